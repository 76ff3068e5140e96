// Compiled, never run: what the types have to accept, and (ts-expect-error) to refuse.
import http from 'node:http'
import http2 from 'node:http2'
import fastifyRateLimit from '@fastify/rate-limit'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import Fastify from 'fastify'
import {
  type AsyncStorage,
  type Cell,
  Decision,
  engine,
  Headers,
  Limiter,
  type Op,
  RatelError,
  type SyncStorage,
  statusOf,
  version
} from 'ratel'
import { decisionOf, rateLimit } from 'ratel/express'
import { RatelStore } from 'ratel/express-rate-limit'
import ratel, { ratelFastify } from 'ratel/fastify'
import { RatelStore as FastifyStore, ratelStore } from 'ratel/fastify-rate-limit'

const limiter = new Limiter({ file: 'rules.yaml', log: (level, text) => console.error(level.toUpperCase(), text) })
new Limiter({ text: 'version: 1', name: 'mine', clock: () => 1n, maxKeys: 10 })
new Limiter({ rules: [{ name: 'a' }], clock: Date.now, secret: new Uint8Array(16) })
// @ts-expect-error one source of rules
new Limiter({ file: 'a', text: 'b' })
// @ts-expect-error a source of rules
new Limiter({ clock: Date.now })
// @ts-expect-error no such option
new Limiter({ file: 'a', max_keys: 1 })
// @ts-expect-error a storage has apply or applyAsync
new Limiter({ file: 'a', storage: { count: () => 1 } })

const decision: Decision = limiter.allow({
  method: 'GET',
  path: '/',
  user: Buffer.from('a'),
  attributes: { plan: 'pro' },
  time: 1n,
  cost: 2
})
limiter.allow({ attributes: new Map([['a', 'b']]) })
const after: number = decision.retryAfterMs
// @ts-expect-error a user is text or bytes
limiter.allow({ user: 1 })
// @ts-expect-error it is an answer
decision.allowed = true
// @ts-expect-error decisions come from a Limiter
new Decision()
const answer: boolean = limiter.isAllowed({ path: '/' })
const later: Promise<Decision> = limiter.allowAsync({ path: '/' })
for (const one of limiter.allowMany([{ path: '/' }])) {
  if (one instanceof RatelError) console.log(one.code satisfies string, one.faults[0]?.line)
  else console.log(one.remaining, one.reason === 'never_fits')
}
// @ts-expect-error there is no such reason
console.log(decision.reason === 'nonsense')
const lines: string = limiter.headers(decision, Headers.X | Headers.DRAFT_11)
const status: 429 | 403 | 503 = statusOf(decision)
{
  using held = new Limiter({ file: 'rules.yaml' })
  held.watch('rules.yaml', 100)
}

class MapStorage implements SyncStorage {
  readonly #held = new Map<string, Uint8Array>()
  apply(op: Op): void {
    for (const cell of op.cells) cell.state = this.#held.get(cell.key)
    op.step()
    for (const cell of op.cells) this.#put(cell)
  }
  #put({ key, write, newState, ttlMs }: Cell): void {
    if (write && newState && ttlMs > 0) this.#held.set(key, newState)
    else if (write) this.#held.delete(key)
  }
}
const remote: AsyncStorage = { applyAsync: async (op) => op.step(), count: async () => 1 }
new Limiter({ file: 'a', storage: new MapStorage() })
new Limiter({ file: 'a', storage: remote })

const app = express()
app.use(rateLimit(limiter))
app.use(
  rateLimit(limiter, {
    user: (req) => req.headers['x-user']?.toString(),
    cost: async () => 2,
    denied: (_req, res, d) => void res.end(String(d.retryAfterMs))
  })
)
app.use(
  rateLimit<express.Request, express.Response>(limiter, {
    user: (req) => req.ip,
    failed: (_req, res, error, next) => (error.code === 'RL_E_STATE' ? next(error) : void res.sendStatus(503))
  })
)
app.get('/', (req, res) => void res.send(decisionOf(req)?.decision.source))
rateLimit(limiter, { idempotencyHeader: true })
rateLimit(limiter, { idempotencyHeader: 'X-Request-Id' })
// @ts-expect-error a name, or whether
rateLimit(limiter, { idempotencyHeader: (req: unknown) => req })
// @ts-expect-error no such hook
rateLimit(limiter, { users: () => 'a' })
const limit2 = rateLimit<http2.Http2ServerRequest, http2.Http2ServerResponse>(limiter)
http2.createServer((req, res) => limit2(req, res, () => res.end()))
const limit1 = rateLimit(limiter)
http.createServer((req, res) => limit1(req, res, () => res.end()))
app.use(expressRateLimit({ windowMs: 1000, limit: 5, store: new RatelStore({ maxKeys: 1000, prefix: 'a' }) }))

const fastify = Fastify()
fastify.register(ratel, { limiter, user: (request) => request.headers['x-user'] as string, hook: 'preHandler' })
fastify.register(ratelFastify, { limiter, denied: (_request, reply, d) => reply.code(statusOf(d)).send(d.reason) })
fastify.get('/', { config: { ratel: { cost: 5 } } }, async () => 'a')
fastify.get('/b', { config: { ratel: false } }, async () => 'a')
// @ts-expect-error a limiter is wanted
fastify.register(ratel, {})
fastify.register(fastifyRateLimit, { max: 5, store: FastifyStore })
fastify.register(fastifyRateLimit, { max: 5, store: ratelStore({ maxKeys: 10 }) })

export { after, answer, engine, later, lines, status, version }
