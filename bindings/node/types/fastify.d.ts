import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { Hooks } from './http.js'
import type { Decision, Limiter, RatelError } from './index.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** false: the route is left out. `cost`: what the hook `cost` leaves open. */
    ratel?: false | { cost?: number | bigint }
  }
}

export { decisionOf } from './http.js'

export interface Options extends Hooks<FastifyRequest> {
  limiter: Limiter
  /** When it asks; onRequest unless stated. */
  hook?: 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'
  /** Answers a denial in place of the problem body. The header fields are set already. */
  denied?: (request: FastifyRequest, reply: FastifyReply, decision: Decision) => unknown
  /** Answers when there is no decision. By default that is 400 for what the request is to blame for, else 503. */
  failed?: (request: FastifyRequest, reply: FastifyReply, error: RatelError) => unknown
}

export const ratelFastify: FastifyPluginAsync<Options>
export default ratelFastify
