import type { Options as LimiterOptions } from './index.js'

export type StoreOptions = Pick<LimiterOptions, 'maxKeys' | 'redis' | 'storage' | 'secret' | 'clock' | 'log'>

type Callback = (error: Error | null, result?: { ttl: number; current: number }) => void

/** A store for @fastify/rate-limit. Its windows are aligned to the clock, not to a key's first hit. */
export interface FastifyStore {
  incr(key: string, callback: Callback, timeWindow?: number, max?: number): void
  read(key: string, callback: Callback, timeWindow?: number, max?: number): void
  child(routeOptions: object): FastifyStore
  close(): void
}

export type FastifyStoreConstructor = new (options?: object) => FastifyStore

export const RatelStore: FastifyStoreConstructor
export type RatelStore = FastifyStore

/** The same with options of Limiter. */
export function ratelStore(options?: StoreOptions): FastifyStoreConstructor
export default RatelStore
