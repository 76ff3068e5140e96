// A request's id from a header, through the middlewares: a repeat is answered as before and charged once.

const assert = require('node:assert/strict')
const { once } = require('node:events')
const http = require('node:http')
const { after, before, describe, test } = require('node:test')
const express = require('express')
const Fastify = require('fastify')
const { Limiter } = require('..')
const { rateLimit } = require('../lib/express.js')
const ratel = require('../lib/fastify.js')
const { RedisServer, missing } = require('./redis-server.js')

const text = 'rules: [{name: five, path: /, scope: user, algorithm: token_bucket, limit: 5, window: 1d}]'
const user = (req) => req.headers['x-user']
const KEY = 'Idempotency-Key'

test('what the option may be', (t) => {
  const limiter = new Limiter({ text })
  t.after(() => limiter.close())
  for (const idempotencyHeader of [1, '', null, {}]) {
    assert.throws(() => rateLimit(limiter, { idempotencyHeader }), { code: 'RL_E_INVALID_ARGUMENT' })
  }
})

describe('idempotencyHeader', { skip: missing() }, () => {
  let server
  before(async () => {
    server = await new RedisServer().start()
  })
  after(() => server.stop())

  function limiterOf(t) {
    const limiter = new Limiter({ text, redis: server.url(), secret: 'a secret of twenty bytes', log() {} })
    t.after(() => limiter.close())
    return limiter
  }

  const apps = {
    express: async (t, options) => {
      const app = express()
      app.use(rateLimit(limiterOf(t), options))
      app.all('/{*any}', (_, res) => res.send('served'))
      const listening = http.createServer(app).listen(0, '127.0.0.1')
      await once(listening, 'listening')
      t.after(() => listening.close())
      return listening.address().port
    },
    fastify: async (t, options) => {
      const app = Fastify()
      await app.register(ratel, { limiter: limiterOf(t), ...options })
      app.get('/', () => 'served')
      await app.listen({ port: 0, host: '127.0.0.1' })
      t.after(() => app.close())
      return app.server.address().port
    }
  }

  /** What is left of five after a request with such fields. */
  async function remaining(port, fields) {
    const req = http.request({ port, host: '127.0.0.1', headers: fields, agent: false })
    req.end()
    const [res] = await once(req, 'response')
    res.resume()
    assert.equal(res.statusCode, 200)
    return Number(res.headers['x-ratelimit-remaining'])
  }

  for (const [name, appOf] of Object.entries(apps)) {
    test(name, async (t) => {
      const one = await appOf(t, { user, idempotencyHeader: true })
      const other = await appOf(t, { user, idempotencyHeader: 'idempotency-KEY' })
      const own = await appOf(t, { user, idempotencyHeader: 'X-Request-Id' })
      const off = await appOf(t, { user })
      const alice = { 'X-User': `alice ${name}` }
      for (const port of [one, other, one]) assert.equal(await remaining(port, { ...alice, [KEY]: '"8e03978e"' }), 4)
      assert.equal(await remaining(own, { ...alice, 'X-Request-Id': '"8e03978e"' }), 4)
      assert.equal(await remaining(off, { ...alice, [KEY]: '"8e03978e"' }), 3, 'nobody asked for it')
      assert.equal(await remaining(one, { 'X-User': `bob ${name}`, [KEY]: '"8e03978e"' }), 4)

      const long = 'i'.repeat(255)
      for (let i = 0; i < 2; i++) assert.equal(await remaining(one, { 'X-User': `carol ${name}`, [KEY]: long }), 4)
      for (const bad of [`${long}i`, '', 'a\tb', '\xe4', ['a', 'a']]) {
        const fields = { 'X-User': `${String(bad).length} ${bad.length} ${name}`, [KEY]: bad }
        assert.deepEqual([await remaining(one, fields), await remaining(one, fields)], [4, 3], `${bad} is ignored`)
      }
    })
  }
})
