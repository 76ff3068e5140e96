import type { Bytes, Decision, Request } from './index.js'

type Awaitable<T> = T | Promise<T>

/** The hooks that all middlewares have. `Req` is the framework's request, `Res` its response. */
export interface Hooks<Req> {
  /** The authenticated user, verified, not what the client says. */
  user?: (req: Req) => Awaitable<Bytes | null | undefined>
  apiKey?: (req: Req) => Awaitable<Bytes | null | undefined>
  /** For `when` conditions and attribute scopes. */
  attributes?: (req: Req) => Awaitable<Request['attributes']>
  /** Units; undefined: what the rule says. */
  cost?: (req: Req) => Awaitable<number | bigint | undefined>
  /** true: neither asked nor counted. */
  skip?: (req: Req) => Awaitable<boolean | undefined>
  /** Which header fields, see `Headers`; 0 or left out: what the rule set says. */
  headers?: number
  /** Lets handlers have the decision: see `decisionOf`. */
  keepDecision?: boolean
  /**
   * The field that a request's id is taken from: its name, or true for Idempotency-Key. With a store on Redis an allowed
   * request that comes again is then answered as before and not charged: right only where what lies behind does not do
   * the work again either (docs/redis.md). A field that comes twice, is longer than 255 bytes or not printable ASCII
   * is ignored.
   */
  idempotencyHeader?: boolean | string
  /** Passes on at once what a leaky_bucket would hold back. */
  ignoreDelay?: boolean
}

/** What was asked and answered for a request that came through a middleware with `keepDecision`. */
export function decisionOf(req: object): { request: Request; decision: Decision } | undefined
