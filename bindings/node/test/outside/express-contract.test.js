// The contract of express-rate-limit's stores, as that package's own MemoryStore keeps it: each question is put to
// both.

const assert = require('node:assert/strict')
const { test } = require('node:test')
const { MemoryStore } = require('express-rate-limit')
const { RatelStore } = require('../../lib/express-rate-limit.js')

const WINDOW = 60_000
const START = 1_700_000_000_000 - (1_700_000_000_000 % WINDOW)

/** Both stores under one clock that is moved by hand, at the beginning of a window. */
function both(t) {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: START })
  const stores = [new MemoryStore(), new RatelStore({ clock: () => Date.now() })]
  for (const store of stores) store.init({ windowMs: WINDOW, limit: 5 })
  t.after(() => {
    for (const store of stores) store.shutdown()
  })
  return async (method, ...given) => {
    const [theirs, ours] = await Promise.all(stores.map(async (store) => plain(await store[method](...given))))
    assert.deepEqual(ours, theirs, `${method}(${given})`)
    return ours
  }
}

const plain = (info) => (info ? { totalHits: info.totalHits, resetTime: info.resetTime.getTime() } : undefined)

test('increment, get', async (t) => {
  const ask = both(t)
  assert.equal(await ask('get', '1.2.3.4'), undefined)
  assert.deepEqual(await ask('increment', '1.2.3.4'), { totalHits: 1, resetTime: START + WINDOW })
  for (let i = 0; i < 10; i++) await ask('increment', '1.2.3.4')
  assert.equal((await ask('increment', '5.6.7.8')).totalHits, 1)
  assert.equal((await ask('get', '1.2.3.4')).totalHits, 11)
})

test('a window ends', async (t) => {
  const ask = both(t)
  await ask('increment', 'k')
  t.mock.timers.tick(WINDOW - 1)
  assert.equal((await ask('increment', 'k')).totalHits, 2)
  t.mock.timers.tick(1)
  assert.equal(await ask('get', 'k'), undefined)
  assert.deepEqual(await ask('increment', 'k'), { totalHits: 1, resetTime: START + 2 * WINDOW })
})

test('decrement', async (t) => {
  const ask = both(t)
  await ask('increment', 'k')
  await ask('increment', 'k')
  await ask('decrement', 'k')
  assert.equal((await ask('get', 'k')).totalHits, 1)
  await ask('decrement', 'k')
  await ask('decrement', 'k')
  assert.equal((await ask('increment', 'k')).totalHits, 1, 'never below none')
})

test('resetKey, resetAll', async (t) => {
  const ask = both(t)
  await ask('increment', 'a')
  await ask('increment', 'b')
  await ask('resetKey', 'a')
  assert.equal(await ask('get', 'a'), undefined)
  assert.equal((await ask('get', 'b')).totalHits, 1)
  await ask('resetAll')
  assert.equal(await ask('get', 'b'), undefined)
  assert.equal((await ask('increment', 'a')).totalHits, 1)
})

test('instances count apart, and say that they are local', () => {
  assert.equal(new RatelStore().localKeys, new MemoryStore().localKeys)
})

test('many at once', async (t) => {
  const store = new RatelStore({ clock: () => START })
  store.init({ windowMs: WINDOW })
  t.after(() => store.shutdown())
  const hits = await Promise.all(Array.from({ length: 100 }, async () => (await store.increment('k')).totalHits))
  assert.deepEqual(
    hits,
    Array.from({ length: 100 }, (_, i) => i + 1)
  )
})
