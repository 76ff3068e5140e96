// Clocks, logs and storages in JavaScript, and what they may do wrong.

const assert = require('node:assert/strict')
const { test } = require('node:test')
const { Limiter, RatelError } = require('..')
const { MapStorage, SlowStorage } = require('./map-storage.js')

const rulesOf = (onStoreError) => [
  {
    name: 'two',
    path: '/',
    scope: 'user',
    algorithm: 'fixed_window',
    limit: 2,
    window: '1d',
    on_store_error: onStoreError
  }
]
const START = 1_700_000_000_000
const ask = (user) => ({ path: '/x', user, time: START })
const nowUs = () => START * 1000

function limiterOf(t, options) {
  const told = []
  const limiter = new Limiter({
    rules: rulesOf('closed'),
    log: (level, text) => told.push(`${level}: ${text}`),
    ...options
  })
  t.after(() => limiter.close())
  return { limiter, told }
}

test('a clock is asked once per request, in milliseconds or nanoseconds', (t) => {
  let asked = 0
  const { limiter } = limiterOf(t, { clock: () => START + asked++ })
  assert.equal(limiter.allow({ path: '/', user: 'a' }).timeMs, START)
  assert.equal(limiter.allow({ path: '/', user: 'a' }).timeMs, START + 1)
  assert.equal(limiter.allowMany([{ path: '/' }, { path: '/' }])[1].timeMs, START + 2)
  assert.equal(asked, 3)
  const exact = limiterOf(t, { clock: () => 1_700_000_000_000_000_999n }).limiter
  assert.equal(exact.allow({ path: '/' }).timeUs, 1_700_000_000_000_000)
  const zero = limiterOf(t, { clock: () => 0 }).limiter
  assert.equal(zero.allow({ path: '/' }).timeUs, 0)
})

test('a clock that misbehaves', async (t) => {
  const thrown = new Error('no time')
  const broken = [
    () => {
      throw thrown
    },
    () => {
      throw undefined
    },
    () => Number.NaN,
    () => -1,
    () => undefined,
    () => 'now',
    () => Number.POSITIVE_INFINITY,
    () => new Date(),
    () => Promise.reject(new Error('later')),
    () => 2 ** 60,
    () => Symbol('x'),
    () => ({
      valueOf() {
        throw thrown
      }
    })
  ]
  for (const clock of broken) {
    const { limiter } = limiterOf(t, { clock })
    const wrong = (error) => error instanceof RatelError && error.code === 'RL_E_INVALID_ARGUMENT'
    assert.throws(() => limiter.allow({ path: '/' }), wrong, String(clock))
    assert.throws(() => limiter.peek({ path: '/' }), wrong)
    assert.equal(limiter.allow(ask('a')).remaining, 1, 'with a time of its own')
  }
  const { limiter, told } = limiterOf(t, { clock: broken[0] })
  assert.throws(() => limiter.allow({ path: '/' }), { cause: thrown })
  assert.match(told[0], /^error: exception in clock: no time$/)
})

test('a clock that asks its limiter, and one that closes it', (t) => {
  let depth = 0
  const asking = limiterOf(t, {
    clock: () => {
      if (depth++ < 3) asking.limiter.allow({ path: '/y'.repeat(50), user: `inner ${depth}` })
      return START
    }
  })
  assert.equal(asking.limiter.allow({ path: '/', user: 'outer' }).remaining, 1)
  assert.equal(asking.limiter.metrics().requests, 4)
  const closing = limiterOf(t, {
    clock: () => {
      closing.limiter.close()
      return START
    }
  })
  assert.equal(closing.limiter.allow({ path: '/', user: 'a' }).allowed, true, 'what is under way is answered')
  assert.throws(() => closing.limiter.allow(ask('a')), { code: 'RL_E_STATE' })
})

test('a clock that asks while many are decided', async (t) => {
  const options = {
    clock: () => {
      inner.allow(ask('inner'))
      return START
    }
  }
  const { limiter: inner } = limiterOf(t, {})
  const { limiter } = limiterOf(t, options)
  const requests = Array.from({ length: 1000 }, (_, i) => ({ path: '/x', user: `user ${i}` }))
  const answers = limiter.allowMany(requests)
  assert.equal(answers.length, 1000)
  assert.ok(answers.every((one) => one.remaining === 1 && one.timeMs === START))
  const later = limiterOf(t, { ...options, storage: new SlowStorage(nowUs) }).limiter
  assert.ok((await later.allowManyAsync(requests)).every((one) => one.remaining === 1))
})

test('a log that misbehaves', (t) => {
  for (const log of [
    () => {
      throw new Error('x')
    },
    () => Promise.reject(new Error('x')),
    () => ({ then: 1 })
  ]) {
    const { limiter } = limiterOf(t, { log })
    assert.throws(() => limiter.reloadFile('/no/such/file'), { code: 'RL_E_IO' })
  }
  const closing = limiterOf(t, { log: () => closing.limiter.close() })
  assert.throws(() => closing.limiter.reloadFile('/no/such/file'), { code: 'RL_E_IO' })
  assert.equal(closing.limiter.closed, true)
})

test('a storage sees bytes under names that tell nothing', (t) => {
  const storage = new MapStorage(nowUs)
  const { limiter } = limiterOf(t, { storage })
  assert.deepEqual(
    [1, 2, 3].map(() => limiter.allow(ask('alice')).allowed),
    [true, true, false]
  )
  const [[key, { state }]] = [...storage.held]
  assert.ok(state instanceof Uint8Array && !key.includes('alice'))
  assert.equal(limiter.keyCount(), 1)
  limiter.reset(ask('alice'))
  assert.equal(storage.held.size, 0)
  const readable = new MapStorage(nowUs)
  limiterOf(t, { storage: readable, readableKeys: true }).limiter.allow(ask('alice'))
  assert.ok([...readable.held.keys()][0].includes('alice'))
})

test('two limiters with one secret share a storage', (t) => {
  const shared = { storage: new MapStorage(nowUs), secret: 'a secret of twenty bytes' }
  const limiters = [limiterOf(t, shared).limiter, limiterOf(t, shared).limiter]
  assert.deepEqual(
    [0, 1, 0].map((i) => limiters[i].allow(ask('a')).allowed),
    [true, true, false]
  )
})

test('a storage that misbehaves is one that could not answer', async (t) => {
  const map = new MapStorage(nowUs)
  const broken = [
    () => {
      throw new Error('down')
    },
    () => {
      throw null
    },
    () => {},
    () => 'RL_OK',
    async (op) => op.step(),
    (op) => {
      op.cells[0].state = 'text'
      op.step()
    },
    (op) => {
      op.cells[0].state = [1]
      op.step()
    },
    (op) => {
      op.cells.length = 0
      op.step()
    },
    (op) => {
      op.cells[0] = undefined
      op.step()
    },
    (op) =>
      Object.defineProperty(op.cells[0], 'state', {
        get() {
          throw new Error('sly')
        }
      }) && op.step(),
    (op) => {
      op.step()
      throw new Error('after the step')
    }
  ]
  for (const [i, apply] of broken.entries()) {
    for (const [policy, source, allowed] of [
      ['open', 'fail_open', true],
      ['closed', 'fail_closed', false],
      ['local', 'local_fallback', true]
    ]) {
      const { limiter } = limiterOf(t, { rules: rulesOf(policy), storage: { apply } })
      const decision = limiter.allow(ask('a'))
      assert.deepEqual([decision.source, decision.allowed], [source, allowed], `${i} ${apply}`)
      assert.equal(limiter.metrics().storeErrors, 1)
      assert.equal((await limiter.allowAsync(ask('a'))).source, source)
      assert.throws(() => limiter.reset(ask('a')), { code: 'RL_E_STORE' })
    }
  }
  const garbage = limiterOf(t, {
    storage: {
      apply: (op) => {
        for (const cell of op.cells) cell.state = Buffer.from('garbage')
        op.step()
      }
    }
  })
  assert.equal(garbage.limiter.allow(ask('a')).remaining, 1, 'bytes that are no state count as none')
  const again = limiterOf(t, {
    storage: {
      apply: (op) => {
        op.step()
        map.apply(op)
      }
    }
  })
  assert.deepEqual(
    [1, 2, 3].map(() => again.limiter.allow(ask('a')).allowed),
    [true, true, false],
    'the last step counts'
  )
  assert.match(limiterOf(t, {}).limiter.ruleName(1), /two/)
})

test('an operation is of no use afterwards', (t) => {
  let kept
  const { limiter } = limiterOf(t, {
    storage: {
      apply: (op) => {
        op.step()
        kept = op
      }
    }
  })
  limiter.allow(ask('a'))
  assert.throws(() => kept.step(), { code: 'RL_E_STATE' })
  limiter.close()
  assert.throws(() => kept.step(), { code: 'RL_E_STATE' })
})

test('duties that misbehave', async (t) => {
  const apply = (op) => op.step()
  for (const wrong of [
    () => {
      throw new Error('x')
    },
    () => Number.NaN,
    () => -1,
    () => 'many',
    () => Promise.reject(new Error('x'))
  ]) {
    const { limiter } = limiterOf(t, { storage: { apply, sweep: wrong, count: wrong } })
    assert.throws(() => limiter.keyCount(), { code: 'RL_E_STORE' })
    assert.throws(() => limiter.evictIdle(), { code: 'RL_E_STORE' })
    assert.equal(limiter.metrics().keys, 0)
    const later = limiterOf(t, { storage: { applyAsync: apply, sweep: wrong, count: wrong } }).limiter
    await assert.rejects(later.keyCountAsync(), { code: 'RL_E_STORE' })
    await assert.rejects(later.evictIdleAsync(), { code: 'RL_E_STORE' })
  }
  const none = limiterOf(t, { storage: { apply } }).limiter
  assert.throws(() => none.keyCount(), { code: 'RL_E_UNSUPPORTED' })
  assert.throws(() => none.evictIdle(), { code: 'RL_E_UNSUPPORTED' })
})

test('a storage that asks its own limiter, and one that closes it', (t) => {
  const map = new MapStorage(nowUs)
  let depth = 0
  const asking = limiterOf(t, {
    storage: {
      apply: (op) => {
        if (depth++ < 2) asking.limiter.allow(ask(`inner ${depth}`))
        map.apply(op)
      }
    }
  })
  assert.equal(asking.limiter.allow(ask('outer')).remaining, 1)
  assert.equal(map.held.size, 3)
  const closing = limiterOf(t, {
    storage: {
      apply: (op) => {
        closing.limiter.close()
        op.step()
      }
    }
  })
  assert.equal(closing.limiter.allow(ask('a')).allowed, true)
  assert.equal(closing.limiter.closed, true)
})

test('a storage that answers later', async (t) => {
  const { limiter } = limiterOf(t, { storage: new SlowStorage(nowUs) })
  assert.throws(() => limiter.allow(ask('a')), { code: 'RL_E_UNSUPPORTED', message: /allowAsync/ })
  assert.throws(() => limiter.settle(ask('a'), undefined, 1), { code: 'RL_E_UNSUPPORTED', message: /settleAsync/ })
  const answers = await Promise.all(Array.from({ length: 50 }, () => limiter.allowAsync(ask('a'))))
  assert.equal(answers.filter((one) => one.allowed).length, 2)
  const decision = await limiter.allowAsync(ask('b'))
  assert.equal((await limiter.peekAsync(ask('b'))).remaining, 1)
  assert.equal((await limiter.settleAsync(ask('b'), decision, 2)).remaining, 0)
  const many = await limiter.allowManyAsync(Array.from({ length: 1000 }, (_, i) => ask(`many ${i}`)))
  assert.ok(many.every((one) => one.remaining === 1))
  assert.match(await limiter.explainAsync(ask('b')), /two/)
  assert.equal(await limiter.keyCountAsync(), 1002)
  assert.equal((await limiter.metricsAsync()).keys, 1002)
  assert.match(await limiter.prometheusAsync(), /ratel_keys 1002/)
  await limiter.resetAsync(ask('b'))
  assert.equal((await limiter.peekAsync(ask('b'))).remaining, 2)
  const calls = Array.from({ length: 20 }, (_, i) =>
    i % 2 ? limiter.peekAsync(ask('c')) : limiter.allowAsync(ask('c'))
  )
  assert.equal((await Promise.all(calls)).filter((one) => !one.peeked && one.allowed).length, 2)
})

test('a storage that fails later', async (t) => {
  for (const applyAsync of [
    async () => {
      throw new Error('down')
    },
    () => {
      throw new Error('at once')
    },
    async () => {},
    () => ({
      then: () => {
        throw new Error('x')
      }
    })
  ]) {
    const { limiter, told } = limiterOf(t, { storage: { applyAsync } })
    const decision = await limiter.allowAsync(ask('a'))
    assert.deepEqual([decision.source, decision.reason], ['fail_closed', 'store'])
    await assert.rejects(limiter.resetAsync(ask('a')), { code: 'RL_E_STORE' })
    assert.equal((await limiter.peekAsync(ask('a'))).source, 'fail_closed')
    assert.ok(told.length > 0)
  }
})

test('a storage that answers later, fails and comes back', async (t) => {
  const slow = new SlowStorage(nowUs)
  let down = true
  const applyAsync = async (op) => {
    if (down) throw new Error('down')
    return slow.applyAsync(op)
  }
  const { limiter, told } = limiterOf(t, { rules: rulesOf('local'), storage: { applyAsync } })
  assert.equal((await limiter.allowAsync(ask('a'))).source, 'local_fallback')
  down = false
  for (let i = 0; i < 5; i++) assert.equal((await limiter.allowAsync(ask(`b${i}`))).source, 'exact')
  for (let i = 0; (await limiter.metricsAsync()).reportedBack === 0 && i < 1000; i++) await limiter.allowAsync(ask('c'))
  assert.equal((await limiter.metricsAsync()).reportedBack, 1)
  assert.equal((await limiter.peekAsync(ask('a'))).remaining, 1, 'what was admitted meanwhile is told')
  assert.ok(told.some((line) => line.includes('exception in storage.applyAsync: down')))
  assert.ok(!told.some((line) => line.includes('storage.apply:')), told.join('\n'))
})

test('a limiter is closed while its storage is told something', async (t) => {
  const slow = new SlowStorage(nowUs)
  let mode = 'down'
  let open
  const applyAsync = async (op) => {
    if (mode === 'down') throw new Error('down')
    if (mode === 'stuck') await new Promise((resolve) => (open = resolve))
    else await slow.applyAsync(op)
  }
  const { limiter } = limiterOf(t, { rules: rulesOf('local'), storage: { applyAsync } })
  assert.equal((await limiter.allowAsync(ask('a'))).source, 'local_fallback')
  mode = 'up'
  assert.equal((await limiter.allowAsync(ask('b'))).source, 'exact')
  const last = limiter.allowAsync(ask('b'))
  mode = 'stuck' // the question is with the storage, and so is a look at what a has
  await last
  for (let i = 0; open === undefined && i < 1000; i++) await new Promise((resolve) => setImmediate(resolve))
  assert.notEqual(open, undefined)
  limiter.close()
  open()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(limiter.closed, true)
})

const cancelled = { code: 'RL_E_CANCELLED', message: /closed before the answer came/ }

test('a limiter that is closed while answers are awaited', async () => {
  const told = []
  const gates = []
  const limiter = new Limiter({
    rules: rulesOf('closed'),
    log: (level, text) => told.push(`${level}: ${text}`),
    storage: {
      applyAsync: async (op) => {
        await new Promise((resolve) => gates.push(resolve))
        op.step()
      },
      count: () => new Promise(() => {})
    }
  })
  const asked = [
    limiter.allowAsync(ask('a')),
    limiter.allowManyAsync([ask('b'), ask('c')]),
    limiter.peekAsync(ask('a')),
    limiter.explainAsync(ask('a')),
    limiter.metricsAsync(),
    limiter.resetAsync(ask('a'))
  ]
  while (gates.length < 2) await new Promise((resolve) => setImmediate(resolve))
  limiter.close()
  for (const one of asked) await assert.rejects(one, cancelled)
  await assert.rejects(limiter.allowAsync(ask('a')), { code: 'RL_E_STATE' })
  for (const open of gates) open()
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(gates.length, 2, 'the storage is not asked again')
  assert.deepEqual(told, [])
})

test('a storage closes its limiter while it is asked', async () => {
  const limiter = new Limiter({
    rules: rulesOf('closed'),
    storage: {
      applyAsync: async (op) => {
        limiter.close()
        op.step()
      }
    }
  })
  await assert.rejects(limiter.allowAsync(ask('a')), cancelled)
})

test('a storage that never finishes holds up no other limiter', { timeout: 60_000 }, async (t) => {
  const stuck = limiterOf(t, {
    storage: { applyAsync: () => new Promise(() => {}), count: () => new Promise(() => {}) }
  })
  const waiting = [stuck.limiter.peekAsync(ask('a')), stuck.limiter.metricsAsync()]
  const { limiter } = limiterOf(t, { storage: new SlowStorage(nowUs) })
  const decision = await limiter.allowAsync(ask('a'))
  assert.equal((await limiter.peekAsync(ask('a'))).remaining, 1)
  assert.equal((await limiter.settleAsync(ask('a'), decision, 2)).remaining, 0)
  assert.equal((await limiter.metricsAsync()).requests, 1)
  stuck.limiter.close()
  for (const one of waiting) await assert.rejects(one, cancelled)
})

test('a limiter that is no longer reachable answers what it was asked', async () => {
  const asked = (() => new Limiter({ rules: rulesOf('closed'), storage: new SlowStorage(nowUs) }).peekAsync(ask('a')))()
  globalThis.gc?.()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal((await asked).remaining, 2)
})

test('a clock in JavaScript serves the thread that waits as well', async (t) => {
  let asked = 0
  const { limiter } = limiterOf(t, {
    clock: () => {
      asked++
      return START
    },
    storage: new SlowStorage(nowUs)
  })
  assert.equal((await limiter.peekAsync({ path: '/', user: 'a' })).timeMs, START)
  assert.equal((await limiter.allowAsync({ path: '/', user: 'a' })).timeMs, START)
  assert.equal(asked, 2)
})
