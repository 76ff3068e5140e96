// The stores for express-rate-limit and @fastify/rate-limit. test/outside runs the suites of those packages.

const assert = require('node:assert/strict')
const http = require('node:http')
const { once } = require('node:events')
const { test } = require('node:test')
const express = require('express')
const { rateLimit } = require('express-rate-limit')
const Fastify = require('fastify')
const fastifyRateLimit = require('@fastify/rate-limit')
const { RatelStore } = require('../lib/express-rate-limit.js')
const fastifyStore = require('../lib/fastify-rate-limit.js')
const { SlowStorage } = require('./map-storage.js')

const START = 1_700_000_000_000 - (1_700_000_000_000 % 60_000)

/** A store for windows of a minute, and a clock that is moved by hand. */
function storeOf(t, options) {
  const clock = { now: START }
  const store = new RatelStore({ clock: () => clock.now, ...options })
  store.init({ windowMs: 60_000 })
  t.after(() => store.shutdown())
  return { store, clock }
}

test('hits are counted until the window ends', async (t) => {
  const { store, clock } = storeOf(t)
  assert.equal(store.localKeys, true)
  assert.equal(await store.get('a'), undefined)
  assert.deepEqual(await store.increment('a'), { totalHits: 1, resetTime: new Date(START + 60_000) })
  clock.now += 59_999
  assert.equal((await store.increment('a')).totalHits, 2)
  assert.equal((await store.increment('b')).totalHits, 1)
  assert.deepEqual(await store.get('a'), { totalHits: 2, resetTime: new Date(START + 60_000) })
  clock.now += 1
  assert.equal(await store.get('a'), undefined)
  assert.deepEqual(await store.increment('a'), { totalHits: 1, resetTime: new Date(START + 120_000) })
})

test('hits are taken back, one by one or all', async (t) => {
  const { store, clock } = storeOf(t)
  await store.decrement('a')
  assert.equal(await store.get('a'), undefined)
  for (let i = 0; i < 3; i++) await store.increment('a')
  await store.decrement('a')
  assert.equal((await store.get('a')).totalHits, 2)
  clock.now += 60_000
  await store.decrement('a')
  assert.equal((await store.increment('a')).totalHits, 1, 'the window before is over')
  await store.resetKey('a')
  assert.equal(await store.get('a'), undefined)
  await store.increment('a')
  await store.resetAll()
  assert.equal(await store.get('a'), undefined)
})

test('a storage that others use too', async (t) => {
  const storage = new SlowStorage(() => START * 1000)
  const shared = { storage, secret: 'a secret of twenty bytes' }
  const { store } = storeOf(t, shared)
  const { store: other } = storeOf(t, shared)
  const { store: apart } = storeOf(t, { ...shared, prefix: 'apart:' })
  assert.equal(store.localKeys, false)
  const hits = await Promise.all([store.increment('a'), other.increment('a'), apart.increment('a')])
  assert.deepEqual(
    hits.map((one) => one.totalHits),
    [1, 2, 1]
  )
  await other.decrement('a')
  assert.equal((await store.get('a')).totalHits, 1)
  await assert.rejects(store.resetAll(), /elsewhere/)
})

test('keys of any kind, windows of any length, options that are none', async (t) => {
  const { store } = storeOf(t)
  for (const key of ['', 'ä', '\0', 'x'.repeat(100_000), '::1', 7])
    assert.equal((await store.increment(key)).totalHits, 1)
  await assert.rejects(store.increment('\ud800'), { code: 'RL_E_INVALID_ARGUMENT' })
  for (const windowMs of [1, 1.5, 10 * 365 * 86_400_000]) {
    store.init({ windowMs })
    assert.equal((await store.increment(`w${windowMs}`)).totalHits, 1)
  }
  store.init({ windowMs: 2 ** 52 })
  await assert.rejects(store.increment('w'))
  assert.throws(() => new RatelStore({ windowMs: 1 }), { code: 'RL_E_INVALID_ARGUMENT', message: /windowMs/ })
})

test('express-rate-limit switches by one line', async (t) => {
  const app = express()
  const store = new RatelStore()
  t.after(() => store.shutdown())
  app.use(rateLimit({ windowMs: 3_600_000, limit: 2, skipFailedRequests: true, legacyHeaders: true, store }))
  app.get('/', (_, res) => res.send('served'))
  app.get('/failing', (_, res) => res.status(500).send('x'))
  const server = http.createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const ask = async (path) => (await fetch(`http://127.0.0.1:${server.address().port}${path}`)).status
  const statuses = []
  for (const path of ['/failing', '/failing', '/failing', '/', '/', '/']) {
    statuses.push(await ask(path))
    await new Promise((resolve) => setTimeout(resolve, 20)) // a hit is taken back once the answer is out
  }
  assert.deepEqual(statuses, [500, 500, 500, 200, 200, 429])
})

test('@fastify/rate-limit switches by one line', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(fastifyRateLimit, { max: 2, timeWindow: '1 hour', store: fastifyStore.RatelStore })
  app.get('/', async () => 'served')
  app.get('/own', { config: { rateLimit: { max: 1 } } }, async () => 'served')
  const statuses = []
  for (const url of ['/', '/', '/', '/own', '/own']) statuses.push((await app.inject({ url })).statusCode)
  assert.deepEqual(statuses, [200, 200, 429, 200, 429])
})

test('what a store of @fastify/rate-limit refuses', async () => {
  const { ratelStore } = fastifyStore
  const Store = ratelStore({ maxKeys: 1000 })
  for (const name of ['continueExceeding', 'exponentialBackoff']) {
    assert.throws(() => new Store({ [name]: true }), { code: 'RL_E_UNSUPPORTED', message: new RegExp(name) })
  }
  assert.throws(() => new (ratelStore({ nonsense: 1 }))({}), { code: 'RL_E_INVALID_ARGUMENT' })
  const store = new Store({})
  const call = (name, ...given) =>
    new Promise((resolve, reject) =>
      store[name](given[0], (error, told) => (error ? reject(error) : resolve(told)), ...given.slice(1))
    )
  assert.deepEqual(await call('incr', 'a', 0, 1), { current: 1, ttl: 0 })
  assert.deepEqual(await call('read', 'a', 0, 1), { current: 0, ttl: 0 })
  assert.deepEqual(await call('read', 'a', 60_000, 1), { current: 0, ttl: 0 })
  assert.equal((await call('incr', 'a', 60_000, 1)).current, 1)
  assert.equal((await call('read', 'a', 60_000, 1)).current, 1)
  await assert.rejects(call('incr', 'a', Number.POSITIVE_INFINITY, 1), { code: 'RL_E_INVALID_ARGUMENT' })
  for (let i = 1; i < 100; i++) await call('incr', 'a', 60_000 + i, 1)
  await assert.rejects(call('incr', 'a', 1, 1), { message: /lengths of windows/ })
  store.close()
})
