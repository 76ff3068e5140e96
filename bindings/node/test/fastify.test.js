const assert = require('node:assert/strict')
const { once } = require('node:events')
const http2 = require('node:http2')
const { test } = require('node:test')
const Fastify = require('fastify')
const { Limiter } = require('..')
const ratel = require('../lib/fastify.js')
const { SlowStorage } = require('./map-storage.js')

const RULES = `
version: 1
headers: {x_ratelimit: true, retry_after: true, reset: delta}
trusted_proxies: [127.0.0.0/8]
rules:
  - {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 3, window: 3d}
  - {name: free, path: /free, scope: user, algorithm: token_bucket, limit: 1, window: 1d}
  - {name: dear, path: /dear, scope: user, algorithm: token_bucket, limit: 10, window: 10d}
  - {name: slow, path: /slow, scope: user, algorithm: leaky_bucket, limit: 2, window: 1s, burst: 100}
  - {name: shut, path: /shut, action: block}
  - {name: mine, path: /down, scope: ip, algorithm: token_bucket, limit: 1, window: 1d, on_store_error: closed}
  - {name: addresses, path: /addresses, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}
`

const hooks = {
  user: (request) => request.headers['x-user'],
  cost: (request) => (request.headers['x-cost'] === undefined ? undefined : Number(request.headers['x-cost']))
}

function limiterOf(t, options) {
  const limiter = new Limiter({ text: RULES, ...options })
  t.after(() => limiter.close())
  return limiter
}

async function appOf(t, options = {}, limiter = limiterOf(t), server = {}) {
  const app = Fastify(server)
  t.after(() => app.close())
  await app.register(ratel, { limiter, ...hooks, ...options })
  const served = async () => 'served'
  for (const path of ['/orders', '/slow', '/shut', '/down', '/addresses']) app.get(path, served)
  app.get('/free', { config: { ratel: false } }, served)
  app.get('/dear', { config: { ratel: { cost: 5 } } }, served)
  app.post('/orders', async (request) => request.body)
  return app
}

const get = (app, url, headers = {}) => app.inject({ url, headers })

test('the first 429', async (t) => {
  const app = await appOf(t)
  const answers = []
  for (let i = 0; i < 4; i++) answers.push(await get(app, '/orders', { 'x-user': 'alice' }))
  assert.deepEqual(
    answers.map((one) => one.statusCode),
    [200, 200, 200, 429]
  )
  assert.equal(answers[0].headers['x-ratelimit-remaining'], '2')
  assert.match(answers[3].headers['content-type'], /^application\/problem\+json/)
  assert.ok(Number(answers[3].headers['retry-after']) > 86000)
  assert.equal(answers[3].json().reason, 'limited')
  assert.equal((await get(app, '/orders', { 'x-user': 'bob' })).statusCode, 200)
  const never = await get(app, '/orders', { 'x-user': 'bob', 'x-cost': '4' })
  assert.deepEqual([never.statusCode, never.headers['retry-after']], [429, undefined])
  assert.equal((await get(app, '/shut')).statusCode, 403)
})

test('routes have a word in it', async (t) => {
  const app = await appOf(t)
  for (let i = 0; i < 3; i++) assert.equal((await get(app, '/free', { 'x-user': 'a' })).statusCode, 200)
  assert.equal((await get(app, '/dear', { 'x-user': 'a' })).headers['x-ratelimit-remaining'], '5')
  assert.equal((await get(app, '/dear', { 'x-user': 'a', 'x-cost': '6' })).statusCode, 429, 'the hook knows better')
})

test('skip, denied, failed, keepDecision and hook', async (t) => {
  const limiter = limiterOf(t)
  const app = await appOf(
    t,
    {
      hook: 'preHandler',
      keepDecision: true,
      skip: async (request) => request.headers['x-skip'] === '1',
      denied: (_request, reply, decision) => reply.code(420).send({ reason: decision.reason }),
      failed: (_request, reply, error) => reply.code(418).send({ code: error.code })
    },
    limiter
  )
  app.post('/settled', async (request) => {
    const { request: asked, decision } = ratel.decisionOf(request)
    return limiter.settle(asked, decision, 1).remaining
  })
  const skipped = await get(app, '/orders', { 'x-user': 'a', 'x-skip': '1', 'x-cost': '9' })
  assert.deepEqual([skipped.statusCode, skipped.headers['x-ratelimit-limit']], [200, undefined])
  const denied = await get(app, '/orders', { 'x-user': 'a', 'x-cost': '9' })
  assert.deepEqual([denied.statusCode, denied.json()], [420, { reason: 'never_fits' }])
  assert.deepEqual((await get(app, '/orders', { 'x-cost': '0' })).json(), { code: 'RL_E_INVALID_ARGUMENT' })
})

test('a hook that sends nothing is no way past the limit', async (t) => {
  for (const denied of [
    (_request, reply) => {
      reply.code(420)
    },
    async (_request, reply) => {
      reply.code(420)
    }
  ]) {
    const costly = await appOf(t, { cost: () => 9, denied })
    const refused = await get(costly, '/orders')
    assert.deepEqual([refused.statusCode, refused.body], [420, ''])
    const bad = await appOf(t, { cost: () => 0, failed: () => undefined })
    const failed = await get(bad, '/orders')
    assert.deepEqual([failed.statusCode, failed.body], [503, ''])
  }
})

test('no decision: 400 or 503; a hook that throws is a 500 of the application', async (t) => {
  const app = await appOf(t)
  assert.equal((await get(app, '/orders', { 'x-cost': '0' })).statusCode, 400)
  const limiter = limiterOf(t)
  const closed = await appOf(t, {}, limiter)
  limiter.close()
  assert.equal((await get(closed, '/orders')).statusCode, 503)
  const thrower = await appOf(t, {
    user: () => {
      throw new Error('mine')
    }
  })
  assert.equal((await get(thrower, '/orders')).statusCode, 500)
})

test('bad options are refused', async (t) => {
  for (const options of [
    { limiter: 1 },
    { limiter: limiterOf(t), users: 1 },
    { limiter: limiterOf(t), hook: 'onSend' }
  ]) {
    const app = Fastify()
    t.after(() => app.close())
    await assert.rejects(async () => app.register(ratel, options), /ratel|limiter|users/)
  }
})

test('the client is the first that is not trusted', async (t) => {
  const app = await appOf(t)
  const from = (chain) => get(app, '/addresses', { 'x-forwarded-for': chain }).then((one) => one.statusCode)
  assert.deepEqual(
    [await from('9.9.9.9, 203.0.113.1'), await from('203.0.113.1'), await from('203.0.113.1, 127.0.0.3')],
    [200, 200, 429]
  )
  assert.equal(await from('203.0.113.2'), 200)
})

test('store trouble follows the rule; a storage may answer later', async (t) => {
  const applyAsync = async () => {
    throw new Error('down')
  }
  const down = await appOf(t, {}, limiterOf(t, { storage: { applyAsync }, log() {} }))
  assert.equal((await get(down, '/down')).statusCode, 503)
  assert.equal((await get(down, '/orders')).statusCode, 200)
  const later = await appOf(t, {}, limiterOf(t, { storage: new SlowStorage(() => Date.now() * 1000) }))
  const answers = await Promise.all(Array.from({ length: 20 }, () => get(later, '/orders', { 'x-user': 'a' })))
  assert.equal(answers.filter((one) => one.statusCode === 200).length, 3)
})

test('unknown routes and bodies', async (t) => {
  const app = await appOf(t)
  assert.equal((await get(app, '/orders/unknown', { 'x-user': 'n' })).headers['x-ratelimit-remaining'], '2')
  const body = { text: 'x'.repeat(1 << 19) }
  const answer = await app.inject({ method: 'POST', url: '/orders', headers: { 'x-user': 'p' }, payload: body })
  assert.deepEqual(answer.json(), body)
})

test('what a leaky bucket lets in is held back', async (t) => {
  const app = await appOf(t)
  const begin = process.hrtime.bigint()
  assert.deepEqual(
    [(await get(app, '/slow', { 'x-user': 'a' })).statusCode, (await get(app, '/slow', { 'x-user': 'a' })).statusCode],
    [200, 200]
  )
  assert.ok(process.hrtime.bigint() - begin >= 400_000_000n)
})

test('HTTP/2, with streams that are cancelled', async (t) => {
  const app = await appOf(t, {}, limiterOf(t), { http2: true })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const session = http2.connect(`http://127.0.0.1:${app.server.address().port}`)
  const ask = async (headers) => {
    const stream = session.request({ ':path': '/orders', ...headers })
    const [fields] = await once(stream, 'response')
    stream.resume()
    return fields
  }
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ 'x-user': 'alice' })))
  assert.deepEqual(answers.map((one) => one[':status']).sort(), [200, 200, 200, 429, 429])
  assert.equal(answers[0]['x-ratelimit-limit'], '3')
  const held = session.request({ ':path': '/slow', 'x-user': 'h' })
  const cut = session.request({ ':path': '/slow', 'x-user': 'h' })
  await once(held, 'response')
  cut.close(http2.constants.NGHTTP2_CANCEL)
  await once(cut, 'close')
  assert.equal((await ask({ 'x-user': 'bob' }))[':status'], 200)
  session.destroy()
})
