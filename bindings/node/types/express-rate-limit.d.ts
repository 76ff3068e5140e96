import type { Options as LimiterOptions } from './index.js'

export type StoreOptions = Pick<LimiterOptions, 'maxKeys' | 'redis' | 'storage' | 'secret' | 'clock' | 'log'>

/** A store for express-rate-limit. Its windows are aligned to the clock, not to a key's first hit. */
export class RatelStore {
  constructor(options?: StoreOptions & { /** Put before every key. */ prefix?: string })
  readonly prefix: string
  readonly localKeys: boolean
  init(options: { windowMs: number }): void
  get(key: string): Promise<{ totalHits: number; resetTime: Date } | undefined>
  increment(key: string): Promise<{ totalHits: number; resetTime: Date }>
  decrement(key: string): Promise<void>
  resetKey(key: string): Promise<void>
  /** For counts that lie in this process. */
  resetAll(): Promise<void>
  shutdown(): void
}
export default RatelStore
