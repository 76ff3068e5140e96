import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Hooks } from './http.js'
import type { Decision, Limiter, RatelError } from './index.js'

export { decisionOf } from './http.js'

type Next = (error?: unknown) => void
type AnyRequest = IncomingMessage | Http2ServerRequest
type AnyResponse = ServerResponse | Http2ServerResponse

export interface Options<Req extends AnyRequest = IncomingMessage, Res extends AnyResponse = ServerResponse>
  extends Hooks<Req> {
  /** Answers a denial in place of the problem body. The header fields are set already. */
  denied?: (req: Req, res: Res, decision: Decision, next: Next) => void
  /** Answers when there is no decision. By default that is 400 for what the request is to blame for, else 503. */
  failed?: (req: Req, res: Res, error: RatelError, next: Next) => void
}

/** A middleware for express, connect, and whatever else calls (req, res, next) with node's own requests. */
export function rateLimit<Req extends AnyRequest = IncomingMessage, Res extends AnyResponse = ServerResponse>(
  limiter: Limiter,
  options?: Options<Req, Res>
): (req: Req, res: Res, next: Next) => void
