// What errors say: the value, its name, and what would be right.

const assert = require('node:assert/strict')
const { test } = require('node:test')
const express = require('express')
const { Limiter, RatelError, Headers } = require('..')
const { rateLimit } = require('../lib/express.js')
const { RatelStore } = require('../lib/express-rate-limit.js')
const fastifyStore = require('../lib/fastify-rate-limit.js')

const rules = [
  { name: 'orders', path: '/orders', scope: 'user', algorithm: 'token_bucket', limit: 5, window: '1h' },
  { name: 'all', path: '/all', scope: 'global', algorithm: 'token_bucket', limit: 5, window: '1h' }
]

function limiterOf(t, options) {
  const limiter = new Limiter({ rules, log: () => undefined, ...options })
  t.after(() => limiter.close())
  return limiter
}

const INVALID = 'RL_E_INVALID_ARGUMENT'
const wrong = (call, message) => assert.throws(call, { name: 'RatelError', code: INVALID, message })

test('what is no number of units', (t) => {
  const limiter = limiterOf(t)
  const costs = [
    [0, /^cost is 0: at least 1/],
    [-1, /^cost is -1: at least 1/],
    [-(2 ** 53 - 1), /^cost is -9007199254740991: at least 1/],
    [-(2n ** 63n - 1n), /^cost is -9223372036854775807: at least 1/],
    [-(2n ** 63n), /^cost is -9223372036854775808n: units fit 64 bits$/],
    [2n ** 63n, /^cost is 9223372036854775808n: units fit 64 bits$/],
    [2 ** 53, /^cost is 9007199254740992: units are a bigint from 2\^53 on$/],
    [1.5, /^cost is 1.5: units are a whole number$/],
    [Number.NaN, /^cost is NaN: units are a whole number$/],
    ['5', /^cost is "5": units are a whole number$/],
    [null, /^cost is null: units are a whole number$/]
  ]
  for (const [cost, message] of costs) {
    wrong(() => limiter.allow({ path: '/orders', cost }), message)
    wrong(() => limiter.allowRule(limiter.ruleId('orders'), 'a', cost), message)
  }
  const request = { path: '/orders', user: 'a' }
  const decision = limiter.allow(request)
  for (const [actual, message] of [
    [-5, /actual is -5, below 0/],
    [0.5, /^actual is 0.5: units are a whole number$/],
    [2n ** 60n, /^actual is 1152921504606846976n: it has to be a whole number of units, below 2\^53$/],
    [undefined, /^actual is undefined/]
  ]) {
    wrong(() => limiter.settle(request, decision, actual), message)
  }
})

test('ids, flags, instants', (t) => {
  const limiter = limiterOf(t)
  const decision = limiter.allow({ path: '/orders', user: 'a' })
  wrong(() => limiter.headers(decision, Number.NaN), /^flags is NaN: of Headers/)
  wrong(() => limiter.headers(decision, -1), /^flags is -1: of Headers/)
  assert.match(limiter.headers(decision, Headers.DRAFT_8), /RateLimit/)
  wrong(() => limiter.ruleName('orders'), /^rule is "orders": an id, see ruleId$/)
  wrong(() => limiter.ruleMetrics(undefined), /^rule is undefined: an id/)
  wrong(() => limiter.limitName(2 ** 32), /^limit is 4294967296: an id/)
  wrong(() => limiter.allow({ path: '/', rule: 1.5 }), /^rule is 1.5: an id/)
  wrong(() => limiter.allow({ path: '/', time: -1 }), /^time is -1: it has to be milliseconds since 1970/)
  wrong(() => limiter.allow({ path: '/', time: new Date() }), /^time is an object: /)
  wrong(() => limiter.evictIdle(Number.NaN), /^cutoff is NaN: /)
  wrong(() => limiter.watch('x', 1.5), /^intervalMs is 1.5: /)
  wrong(() => limiter.explain({ path: '/' }, 'xml'), /^format is "xml": it has to be text or json$/)
  wrong(() => limiter.clientIp('192.0.2.1', ['a', 7]), /^xForwardedFor\[1\] is 7: it has to be a string$/)
  wrong(() => limiter.allow({ path: '/', attributes: { plan: 7 } }), /^an attribute is 7: /)
  wrong(() => limiter.allow({ path: '/', attributes: 'plan' }), /^attributes is "plan": it has to be an object/)
  wrong(() => limiter.allow({ path: 7 }), /^path is 7: neither a string nor an Uint8Array$/)
  wrong(() => limiter.allow({ path: '/', key: 'a' }), /request.key goes with request.rule/)
  assert.throws(() => limiter.allowRule(77, 'a'), { code: 'RL_E_NOT_FOUND', message: 'no rule in force has the id 77' })
})

test('what is no request, and fields that there are not', async (t) => {
  const limiter = limiterOf(t)
  wrong(() => limiter.allow([{ path: '/' }]), 'a request is an object, not a list')
  wrong(() => limiter.allow('/'), 'a request is an object, not "/"')
  wrong(
    () => limiter.allow({ path: '/', usr: 'a' }),
    /^a request has no field usr, did you mean user\? there are method, /
  )
  wrong(() => limiter.allow({ path: '/', api_key: 'a' }), /^a request has no field api_key, did you mean apiKey\? /)
  wrong(() => limiter.isAllowed({ path: '/', now: 1 }), /^a request has no field now; there are method, /)
  wrong(() => limiter.peek({ path: '/', Cost: 1 }), /did you mean cost\?/)
  wrong(() => limiter.allowMany({}), 'allowMany takes a list of requests, not an object')
  wrong(
    () => limiter.allowMany([{ path: '/' }, { pth: '/' }]),
    /^requests\[1\]: a request has no field pth, did you mean path\?/
  )
  await assert.rejects(limiter.allowAsync({ uesr: 'a' }), { message: /did you mean user\?/ })
  assert.equal(limiter.metrics().requests, 0)
  class Asked {
    constructor() {
      this.path = '/orders'
    }

    get user() {
      return 'a'
    }

    other() {}
  }
  assert.equal(limiter.allow(new Asked()).remaining, 4)
  assert.equal(limiter.allow({ path: '/orders', user: 'a', key: undefined }).remaining, 3)
  wrong(() => new Limiter({ rules, clok: Date.now }), /^new Limiter: no option clok, did you mean clock\?/)
  wrong(() => new Limiter([rules]), /^new Limiter: an object of options, not a list$/)
  wrong(() => rateLimit(limiter, { usr: () => 'a' }), /^no option usr, did you mean user\?/)
  wrong(() => rateLimit(limiter, { user: 'a' }), /^user is "a": it has to be a function$/)
  wrong(() => rateLimit(limiter, { headers: '8' }), /^headers is "8": of Headers/)
})

test('a rule that is asked without a key', async (t) => {
  const limiter = limiterOf(t)
  const orders = limiter.ruleId('orders')
  for (const key of [undefined, null]) {
    wrong(
      () => limiter.allowRule(orders, key),
      /^key is (undefined|null): a rule of scope global takes '', others a value$/
    )
    await assert.rejects(limiter.allowRuleAsync(orders, key), { code: INVALID })
  }
  wrong(() => limiter.allowRule(undefined, 'a'), /^rule is undefined: an id/)
  assert.equal(limiter.allowRule(limiter.ruleId('all'), '').remaining, 4)
})

test('each one of many that is refused says why', async (t) => {
  let asked = 0
  const limiter = limiterOf(t, {
    clock: () => {
      asked++
      return 1e12
    }
  })
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`a${i}`, 'x']))
  const requests = [
    { path: '/orders', user: 'a' },
    { path: '/orders', user: 'a', cost: -3 },
    { path: '/orders', key: 'a' },
    { rule: 99, key: 'a' },
    { path: '/', attributes: many },
    { path: '/orders', user: 'a' }
  ]
  for (const answers of [limiter.allowMany(requests), await limiter.allowManyAsync(requests)]) {
    const said = answers.map((one) => (one instanceof RatelError ? [one.code, one.message] : one.allowed))
    assert.equal(said[0], true)
    assert.deepEqual(said[1][0], INVALID)
    assert.match(said[1][1], /^cost is -3: at least 1/)
    assert.match(said[2][1], /key goes with request.rule/)
    assert.deepEqual(said[3], ['RL_E_NOT_FOUND', 'no rule in force has the id 99'])
    assert.match(said[4][1], /attribute_count is 65, more than 64/)
    assert.equal(said[5], true)
  }
  assert.equal(asked, 2, 'the clock is asked once for all')
  assert.equal(limiter.metrics().requests, 4)
  const broken = limiterOf(t, { clock: () => Number.NaN })
  assert.match(broken.allowMany([{ path: '/' }])[0].message, /the clock callback failed/)
})

test('a clock that fails is the cause', async (t) => {
  for (const [clock, cause] of [
    [() => Number.NaN, /it told NaN/],
    [() => Number.POSITIVE_INFINITY, /it told Infinity/],
    [() => -1, /it told -1/],
    [() => 2 ** 60, /it told 1152921504606847000, not milliseconds/],
    [() => new Date(), /it told an object/]
  ]) {
    const limiter = limiterOf(t, { clock })
    const why = (error) =>
      error.code === INVALID && /the clock callback failed/.test(error.message) && cause.test(error.cause.message)
    assert.throws(() => limiter.allow({ path: '/orders', user: 'a' }), why)
    assert.throws(() => limiter.evictIdle(), why)
    await assert.rejects(limiter.allowAsync({ path: '/orders', user: 'a' }), why)
    assert.throws(
      () => limiter.allow({ path: '/orders', cost: 0 }),
      (error) => error.cause === undefined,
      'no longer'
    )
  }
})

async function served(t, limiter, options) {
  const app = express().use(rateLimit(limiter, options))
  app.get('/orders', (_, res) => res.send('served'))
  app.use((error, _req, res, _next) => res.status(500).send(error.message))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  const answer = await fetch(`http://127.0.0.1:${server.address().port}/orders`)
  return [answer.status, (await answer.text()).trim()]
}

test('hooks that return what they should not', async (t) => {
  const limiter = limiterOf(t)
  const cases = [
    [{ cost: () => -1 }, 400, /^cost is -1: at least 1/],
    [{ cost: () => 1.5 }, 400, /^cost is 1.5: units are a whole number$/],
    [{ user: () => '\ud800' }, 400, /^user has half of a surrogate pair$/],
    [{ cost: () => 'five' }, 500, /^ratel: the hook cost returned "five": a number or a bigint/],
    [{ user: () => 42 }, 500, /^ratel: the hook user returned 42: a string or an Uint8Array/],
    [{ apiKey: async () => ({}) }, 500, /^ratel: the hook apiKey returned an object: /],
    [{ attributes: () => 'pro' }, 500, /^ratel: the hook attributes returned "pro": an object/]
  ]
  for (const [options, status, text] of cases) {
    const [got, body] = await served(t, limiter, options)
    assert.equal(got, status, body)
    assert.match(body, text)
  }
  const broken = limiterOf(t, { clock: () => Number.NaN })
  assert.deepEqual(await served(t, broken, {}), [503, 'the limits could not be checked'])
})

test('windows and keys of the stores', async (t) => {
  const store = new RatelStore()
  t.after(() => store.shutdown())
  for (const windowMs of [-1, 0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '60000', undefined]) {
    wrong(() => store.init({ windowMs }), /^a window of .*: it has to be a number of milliseconds, at least 1$/)
  }
  store.init({ windowMs: 60_000 })
  for (const key of [undefined, null, {}, true]) {
    await assert.rejects(store.increment(key), { code: INVALID, message: /^key is .*: whoever makes keys/ })
  }
  const incr = new fastifyStore.RatelStore({})
  t.after(() => incr.close())
  const call = (key, window) =>
    new Promise((resolve, reject) => incr.incr(key, (error, told) => (error ? reject(error) : resolve(told)), window))
  await assert.rejects(call('a', -1), { code: INVALID, message: /^a window of -1/ })
  await assert.rejects(call(undefined, 60_000), { code: INVALID, message: /^key is undefined/ })
})
