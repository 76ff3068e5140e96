const assert = require('node:assert/strict')
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { test } = require('node:test')
const { Decision, engine, Headers, Limiter, RatelError, statusOf } = require('..')

const START = 1_700_000_000_000
const three = [{ name: 'three', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 3, window: '3m' }]
const ask = (user, more) => ({ method: 'GET', path: '/x', user, time: START, ...more })
const refused =
  (code, text = /./) =>
  (error) => {
    assert.ok(error instanceof RatelError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, text)
    return true
  }

function limiterOf(t, options = { rules: three }) {
  const limiter = new Limiter(options)
  t.after(() => limiter.close())
  return limiter
}

function folderOf(t) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'ratel-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

test('three of four pass', (t) => {
  const limiter = limiterOf(t)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limiter.allow(ask('a')).allowed),
    [true, true, true, false]
  )
  const denied = limiter.allow(ask('a'))
  assert.ok(denied instanceof Decision)
  assert.equal(denied.reason, 'limited')
  assert.equal(denied.retryAfterUs, 60_000_000)
  assert.equal(denied.retryAfterMs, 60_000)
  assert.equal(denied.resetAfterMs, 180_000)
  assert.equal(denied.timeMs, START)
  assert.equal(denied.windowMs, 180_000)
  assert.equal(denied.delayMs, 0)
  assert.equal(statusOf(denied), 429)
  assert.equal(limiter.ruleName(denied.rule), 'three')
  assert.equal(limiter.limitName(denied.limitId), 'three')
  assert.equal(limiter.allow(ask('b')).remaining, 2)
})

test('isAllowed makes no object, and lastDecision reads it once nothing is in the way', (t) => {
  const limiter = limiterOf(t)
  assert.equal(limiter.isAllowed(ask('a', { cost: 3 })), true)
  assert.equal(limiter.lastDecision().remaining, 0)
  assert.equal(limiter.isAllowed(ask('a')), false)
  limiter.peek(ask('b'))
  assert.throws(() => limiter.lastDecision(), refused('RL_E_INVALID_ARGUMENT', /since isAllowed/))
})

test('a rule that is known, and its key', (t) => {
  const limiter = limiterOf(t)
  const rule = limiter.ruleId('three')
  assert.deepEqual(limiter.rules(), [rule])
  assert.equal(limiter.allowRule(rule, 'k', 2).remaining, 1)
  assert.equal(limiter.allow({ rule, key: 'k' }).remaining, 0)
  assert.equal(limiter.allowRule(rule, 'k').allowed, false)
  assert.throws(() => limiter.allowRule(99, 'k'), refused('RL_E_NOT_FOUND'))
  assert.throws(() => limiter.ruleId('four'), refused('RL_E_NOT_FOUND'))
})

test('many at one instant', (t) => {
  const limiter = limiterOf(t)
  const answers = limiter.allowMany([ask('a'), ask('a', { cost: 0 }), ask('a', { cost: 2 }), ask('a')])
  assert.deepEqual(
    answers.map((one) => one.allowed ?? one.code),
    [true, 'RL_E_INVALID_ARGUMENT', true, false]
  )
  assert.deepEqual(limiter.allowMany([]), [])
  const users = Array.from({ length: 5000 }, (_, i) => ask(`user ${i}`, { attributes: { n: String(i) } }))
  assert.ok(limiter.allowMany(users).every((one) => one.remaining === 2))
  assert.equal(limiter.metrics().allowed, 5002)
})

test('attributes, as an object, a Map or pairs', (t) => {
  const rules = [
    {
      name: 'pro',
      path: '/',
      when: { plan: 'pro' },
      scope: 'attribute:team',
      algorithm: 'fixed_window',
      limit: 1,
      window: '1h'
    }
  ]
  const limiter = limiterOf(t, { rules: { version: 1, rules } })
  const forms = [
    { plan: 'pro', team: 'é' },
    new Map([
      ['plan', 'pro'],
      ['team', 'é']
    ]),
    [
      ['plan', 'pro'],
      ['team', Buffer.from('é')]
    ]
  ]
  assert.deepEqual(
    forms.map((attributes) => limiter.allow({ path: '/', time: START, attributes }).allowed),
    [true, false, false]
  )
  assert.equal(limiter.allow({ path: '/', attributes: { plan: 'free' } }).source, 'no_rule')
})

test('strings are kept apart, whatever they hold', (t) => {
  const one = [{ name: 'one', path: '/', scope: 'user', algorithm: 'fixed_window', limit: 1, window: '1d' }]
  const limiter = limiterOf(t, { rules: one })
  const names = [
    'a',
    'ä',
    'a\u0308',
    '\ufffd',
    '\0',
    '\0\0',
    'é',
    '\u00e9x',
    '😀',
    'x'.repeat(200),
    'é'.repeat(100_000),
    'é'.repeat(100_001)
  ]
  for (const name of names) assert.equal(limiter.allow(ask(name)).allowed, true, JSON.stringify(name.slice(0, 9)))
  for (const name of names) {
    assert.equal(limiter.allow(ask(name)).allowed, false)
    assert.equal(limiter.allow(ask(Buffer.from(name))).allowed, false, 'a string is its UTF-8')
  }
  for (const bytes of [[255], [254], [195]]) assert.equal(limiter.allow(ask(Uint8Array.from(bytes))).allowed, true)
  for (const half of ['\ud800', 'a\udc00', '\udc00\ud800', `${'x'.repeat(300)}\ud83d`]) {
    assert.throws(() => limiter.allow(ask(half)), refused('RL_E_INVALID_ARGUMENT', /surrogate/))
    assert.throws(() => limiter.ruleId(half), refused('RL_E_INVALID_ARGUMENT', /surrogate/))
    assert.throws(() => new Limiter({ text: half }), refused('RL_E_INVALID_ARGUMENT', /surrogate/))
  }
})

test('strings of every size are the same bytes one by one, for a known rule, and among many', (t) => {
  const one = [{ name: 'one', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 1, window: '1d' }]
  const names = []
  for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 47, 48, 49, 50, 63, 64, 65, 127, 128, 129, 130, 255, 256, 257]) {
    names.push('x'.repeat(size), `${'x'.repeat(size - 1)}y`, `${'x'.repeat(size - 1)}é`, `é${'x'.repeat(size - 1)}`)
  }
  // What fits the usual frame by its records and not by its strings, and what does not fit by its records.
  for (const count of [1, 64, 250, 390, 405, 1000]) {
    const limiter = limiterOf(t, { rules: one })
    const rule = limiter.ruleId('one')
    const users = Array.from({ length: count }, (_, i) => `${i}${names[i % names.length]}`)
    const many = (more) => limiter.allowMany(users.map((user) => ask(user, { time: undefined, ...more })))
    assert.ok(
      many().every((decision) => decision.allowed),
      `${count}`
    )
    for (const user of users) {
      assert.equal(limiter.allow(ask(user, { time: undefined })).allowed, false)
      assert.equal(limiter.isAllowed(ask(user, { time: undefined })), false)
      assert.equal(limiter.allowRule(rule, user).allowed, false)
      assert.equal(limiter.allow({ rule, key: Buffer.from(user) }).allowed, false)
    }
    assert.ok(many({ attributes: { a: 'b' } }).every((decision) => !decision.allowed))
    assert.equal(limiter.keyCount(), count)
  }
})

// There is a byte for each character before anybody knows that they take more: what ends with the frame is not cut there.
test('strings that are no ASCII are whole at the end of a frame', (t) => {
  const one = [{ name: 'one', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 1, window: '1d' }]
  const limiter = limiterOf(t, { rules: one })
  const rule = limiter.ruleId('one')
  const asked = (user) => ({ path: '/', user })
  const twins = (start, length) => ['é', 'è'].map((last) => `${start}${'é'.repeat(length - start.length - 1)}${last}`)
  const allAre = (allowed, decisions) => decisions.every((decision) => decision.allowed === allowed)
  const eachOnce = (users, ask, hint) => {
    assert.ok(allAre(true, ask(users)), hint)
    assert.ok(allAre(false, ask(users)), hint)
    const inBytes = users.map((user) => limiter.allow(asked(Buffer.from(user))))
    assert.ok(allAre(false, inBytes), hint)
  }
  // A frame that is made for the string alone.
  for (let size = (1 << 17) + 1; size <= (1 << 17) + 16; size++) {
    eachOnce(twins('', size), (users) => users.map((user) => limiter.allow(asked(user))), `${size}`)
    assert.ok(allAre(false, limiter.allowMany(twins('', size).map(asked))), `${size}`)
    assert.ok(
      twins('', size).every((user) => !limiter.allowRule(rule, user).allowed),
      `${size}`
    )
  }
  // The usual one, full to its last bytes.
  for (const size of [49, 128, 129, 800]) {
    for (let left = -2; left <= 2; left++) {
      const name = `${size}:${left}`
      const before = (1 << 16) - 512 - 160 * 2 - 2 - size - left
      const filled = ([user]) => limiter.allowMany([asked('x'.repeat(before)), asked(user)]).slice(1)
      for (const user of twins(name, size)) eachOnce([user], filled, name)
    }
  }
})

test('what is no ASCII leaves the request before it as it is', (t) => {
  const one = [{ name: 'one', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 1, window: '1d' }]
  const odd = ['é', 'é'.repeat(60), 'x'.repeat(300), Buffer.from('b')]
  const fields = ['method', 'path', 'user', 'apiKey', 'ip']
  for (const value of odd) {
    for (let which = 1; which < 1 << fields.length; which++) {
      const limiter = limiterOf(t, { rules: one })
      const second = { method: 'PUT', path: '/b', user: 'second', apiKey: 'k', ip: '192.0.2.1' }
      fields.forEach((field, i) => {
        if ((which >> i) & 1) second[field] = value
      })
      limiter.allowMany([{ path: '/a', user: 'first' }, second])
      assert.equal(limiter.allow({ path: '/a', user: 'first' }).allowed, false, `${value} ${which}`)
    }
  }
})

test('a request is told by its own method and path, whatever was asked before it', (t) => {
  const methods = ['GET', 'POST', 'PUT']
  const paths = ['/a', '/b', `/${'c'.repeat(47)}`, `/${'d'.repeat(48)}`, `/${'e'.repeat(128)}`, '/é']
  const named = (method, path) => `${method}-${paths.indexOf(path)}`
  const rules = methods.flatMap((method) =>
    paths.map((path) => ({
      name: named(method, path),
      method,
      path,
      scope: 'user',
      algorithm: 'fixed_window',
      limit: 1_000_000,
      window: '1d'
    }))
  )
  const limiter = limiterOf(t, { rules })
  let seed = 1
  const below = (count) => {
    seed = (seed * 48271) % 2147483647
    return seed % count
  }
  const bytes = (text) => (below(8) === 0 ? Buffer.from(text) : text)
  const forms = [
    { user: 'u' },
    { user: 'u' },
    { user: 'u', ip: '192.0.2.1' },
    { user: 'ü' },
    { user: 'u'.repeat(60) },
    { user: 'u', cost: 2n },
    { user: 'u', attributes: { plan: 'pro' } }
  ]
  let method = 'GET'
  let path = '/a'
  const next = () => {
    if (below(3) === 0) method = methods[below(methods.length)]
    if (below(3) === 0) path = paths[below(paths.length)]
    return {
      name: named(method, path),
      request: { method: bytes(method), path: bytes(path), ...forms[below(forms.length)] }
    }
  }
  const nameOf = (decision) => limiter.ruleName(decision.rule)
  const kinds = [
    ({ name, request }) => assert.equal(nameOf(limiter.allow(request)), name),
    ({ name, request }) => {
      limiter.isAllowed(request)
      assert.equal(nameOf(limiter.lastDecision()), name)
    },
    ({ name, request }) => assert.equal(nameOf(limiter.peek(request)), name),
    ({ name }) => assert.equal(nameOf(limiter.allowRule(limiter.ruleId(name), 'k'.repeat(below(60)))), name),
    () => {
      const asked = Array.from({ length: below(20) }, next)
      assert.deepEqual(
        limiter.allowMany(asked.map(({ request }) => request)).map(nameOf),
        asked.map(({ name }) => name)
      )
    },
    () =>
      assert.throws(
        () => limiter.allow({ method: 'GET', path: '/a', user: '\ud800' }),
        refused('RL_E_INVALID_ARGUMENT')
      ),
    () => assert.equal(limiter.clientIp('192.0.2.1', ['GET/a']), '192.0.2.1')
  ]
  for (let i = 0; i < 5000; i++) kinds[below(kinds.length)](next())
})

test('a hundred megabytes in one string', (t) => {
  const limiter = limiterOf(t)
  const huge = 'x'.repeat(100 << 20)
  assert.equal(limiter.allow(ask(huge)).remaining, 2)
  assert.equal(limiter.allow(ask(Buffer.from(huge))).remaining, 1)
  assert.equal(limiter.allow(ask('x')).remaining, 2)
})

test('a request is read before it is written: its getters may ask as well', (t) => {
  const limiter = limiterOf(t)
  const sly = {
    method: 'GET',
    path: '/x',
    time: START,
    get user() {
      limiter.allow(ask('somebody with a long name'))
      return 'sly'
    }
  }
  assert.equal(limiter.allow(sly).remaining, 2)
  assert.equal(limiter.allow(ask('sly')).remaining, 1)
  assert.equal(limiter.allow(ask('somebody with a long name')).remaining, 1)
  assert.throws(() => limiter.allowMany([sly, sly]), refused('RL_E_INVALID_ARGUMENT', /getters/))
  assert.throws(
    () =>
      limiter.allow({
        get user() {
          throw new RangeError('mine')
        }
      }),
    RangeError
  )
})

test('a list that changes while it is read counts as long as it was', (t) => {
  const limiter = limiterOf(t)
  const left = (user) => limiter.peek(ask(user)).remaining
  const list = [
    {
      ...ask(),
      get user() {
        for (let i = 0; i < 40; i++) list.push(ask('late'))
        return 'first'
      }
    }
  ]
  assert.deepEqual(
    limiter.allowMany(list).map(({ remaining }) => remaining),
    [2]
  )
  assert.deepEqual([left('first'), left('late')], [2, 3])
  limiter.allowMany([ask('cut'), ask('cut')])
  const cut = [
    {
      ...ask(),
      get user() {
        cut.length = 1
        return 'first'
      }
    },
    ask('cut')
  ]
  assert.throws(() => limiter.allowMany(cut), refused('RL_E_INVALID_ARGUMENT', /requests\[1\]/))
  assert.deepEqual([left('first'), left('cut')], [2, 1])
})

test('bytes are as many as there are, whatever their class says', (t) => {
  const limiter = limiterOf(t)
  for (const told of [5, 0, 60_000, 2 ** 33, -500, Number.NaN]) {
    class Odd extends Uint8Array {
      get length() {
        limiter.allow(ask('somebody with a long name'))
        return told
      }
    }
    const user = String(told)
    assert.equal(limiter.allow(ask(new Odd(Buffer.from(user)))).remaining, 2)
    assert.equal(limiter.allow(ask(user)).remaining, 1, user)
  }
})

test('settle', (t) => {
  const limiter = limiterOf(t)
  const decision = limiter.allow(ask('a', { cost: 3 }))
  assert.equal(limiter.settle(ask('a'), decision, 1).remaining, 2)
  assert.throws(() => limiter.settle(ask('a'), limiter.peek(ask('a')), 1), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(
    () => limiter.settle(ask('a'), { ...decision }, 1),
    refused('RL_E_INVALID_ARGUMENT', /not one of a Limiter/)
  )
  for (const actual of [-1, 1.5, Number.NaN, undefined, '1', 2 ** 60]) {
    assert.throws(() => limiter.settle(ask('a'), decision, actual), refused('RL_E_INVALID_ARGUMENT'))
  }
  for (const wrong of [{ source: 'x' }, { cost: Number.NaN }, { reason: 'limited' }]) {
    const changed = Object.assign(Object.create(Decision.prototype), decision, wrong)
    assert.throws(() => limiter.settle(ask('a'), changed, 1), refused('RL_E_INVALID_ARGUMENT'), JSON.stringify(wrong))
  }
})

test('costs', (t) => {
  const limiter = limiterOf(t)
  for (const cost of [
    0,
    -1,
    -(2 ** 53 - 1),
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    '1',
    null,
    {},
    2n ** 63n,
    -(2n ** 63n),
    0n
  ]) {
    assert.throws(() => limiter.allow(ask('a', { cost })), refused('RL_E_INVALID_ARGUMENT'), String(cost))
    assert.throws(() => limiter.peek(ask('a', { cost })), refused('RL_E_INVALID_ARGUMENT'))
  }
  assert.equal(limiter.allow(ask('a', { cost: 2n })).remaining, 1)
  const never = limiter.allow(ask('a', { cost: 2n ** 63n - 1n }))
  assert.deepEqual(
    [never.reason, never.cost, never.retryAfterMs],
    ['never_fits', 2n ** 63n - 1n, Number.POSITIVE_INFINITY]
  )
  assert.doesNotMatch(limiter.headers(never), /retry-after/i)
  assert.equal(JSON.parse(limiter.problem(never)).reason, 'never_fits')
})

test('times', (t) => {
  const limiter = limiterOf(t)
  for (const time of [-1, -1n, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 2n ** 64n, '1', null, new Date()]) {
    assert.throws(() => limiter.allow(ask('a', { time })), refused('RL_E_INVALID_ARGUMENT', /time/), String(time))
  }
  assert.equal(limiter.allow(ask('a', { time: 0 })).timeUs, 0)
  assert.equal(limiter.allow(ask('a', { time: 1_700_000_000_000.25 })).timeUs, 1_700_000_000_000_250)
  assert.equal(limiter.allow(ask('b', { time: 9_007_199_254_740_991_000n })).timeUs, Number.MAX_SAFE_INTEGER)
  assert.ok(Math.abs(limiter.allow(ask('c', { time: undefined })).timeMs - Date.now()) < 60_000)
})

test('arguments of wrong types', (t) => {
  const limiter = limiterOf(t)
  for (const wrong of [undefined, null, 1, 'x', Symbol('x')]) {
    assert.throws(() => limiter.allow(wrong), refused('RL_E_INVALID_ARGUMENT'))
    assert.throws(() => limiter.allowMany(wrong), refused('RL_E_INVALID_ARGUMENT'))
    assert.throws(() => limiter.headers(wrong), refused('RL_E_INVALID_ARGUMENT'))
  }
  for (const wrong of [1, {}, [], true, Symbol('x'), new Uint16Array(1)]) {
    for (const name of ['method', 'path', 'user', 'apiKey', 'ip', 'key']) {
      assert.throws(
        () => limiter.allow(ask('a', { [name]: wrong })),
        refused('RL_E_INVALID_ARGUMENT', new RegExp(name))
      )
    }
  }
  for (const attributes of [
    1,
    'x',
    [1],
    [['a']],
    [['a', 1]],
    { a: 1 },
    Array.from({ length: 65 }, (_, i) => [`a${i}`, 'b'])
  ]) {
    assert.throws(() => limiter.allow(ask('a', { attributes })), refused('RL_E_INVALID_ARGUMENT', /attribute/))
    assert.throws(() => limiter.peek(ask('a', { attributes })), refused('RL_E_INVALID_ARGUMENT', /attribute/))
  }
  for (const rule of [-1, 1.5, '1', 2 ** 32, null]) {
    assert.throws(() => limiter.allow({ rule }), refused('RL_E_INVALID_ARGUMENT'))
    assert.throws(() => limiter.ruleMetrics(rule), refused('RL_E_INVALID_ARGUMENT'))
  }
  assert.throws(() => limiter.allow({ key: 'k' }), refused('RL_E_INVALID_ARGUMENT'), 'a key without a rule')
  assert.throws(() => limiter.explain(ask('a'), 'xml'), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(() => limiter.watch('x', -1), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(() => limiter.watch('x', 5), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(() => limiter.clientIp(undefined), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(() => limiter.clientIp('::1', 'x'), refused('RL_E_INVALID_ARGUMENT'))
  assert.throws(() => limiter.headers(limiter.allow(ask('z')), 1 << 20), refused('RL_E_INVALID_ARGUMENT'))
  assert.equal(limiter.allow(ask('a')).remaining, 2, 'nothing of it was charged')
})

test('rules at fault tell their places', () => {
  const text =
    'version: 1\nrules:\n  - {name: a, path: /, scope: user, algorithm: token_bucket, limit: 0, window: 1s}\n  - {name: a, what: 1}\n'
  assert.throws(
    () => new Limiter({ text, name: 'mine.yaml' }),
    (error) => {
      refused('RL_E_CONFIG', /^mine\.yaml:3:\d+: .*limit.* \(and \d+ more\)$/)(error)
      assert.deepEqual([error.file, error.line], ['mine.yaml', 3])
      assert.match(error.path, /rules\[0\]/)
      assert.ok(error.faults.length > 1 && error.faults.every((fault) => fault instanceof RatelError && fault.line > 0))
      assert.equal(error.name, 'RatelError')
      return true
    }
  )
  assert.throws(() => new Limiter({ file: '/no/such/file' }), refused('RL_E_IO'))
  assert.throws(() => new Limiter({ rules: [] }), refused('RL_E_CONFIG'))
  assert.throws(() => new Limiter({ rules: [{ ...three[0], limit: 2n }] }), refused('RL_E_INVALID_ARGUMENT', /BigInt/))
  for (const options of [
    undefined,
    null,
    {},
    { file: 'a', text: 'b' },
    { rules: 1 },
    { text: 1 },
    { rules: three, max_keys: 1 }
  ]) {
    assert.throws(() => new Limiter(options), refused('RL_E_INVALID_ARGUMENT'))
  }
  for (const more of [
    { maxKeys: -1 },
    { maxKeys: 1.5 },
    { clock: 1 },
    { log: {} },
    { storage: {} },
    { storage: { apply: 1 } },
    { secret: 'short' }
  ]) {
    assert.throws(() => new Limiter({ rules: three, ...more }), refused('RL_E_INVALID_ARGUMENT'), JSON.stringify(more))
  }
})

test('reload keeps the counts, a bad one keeps the rules', (t) => {
  const limiter = limiterOf(t)
  limiter.allow(ask('a', { cost: 3 }))
  const four = [{ ...three[0], limit: 4 }]
  assert.match(limiter.diff({ rules: four }), /three/)
  assert.ok(JSON.parse(limiter.diff({ rules: four }, 'json')))
  limiter.reload({ rules: four })
  assert.equal(limiter.generation, 2)
  assert.equal(limiter.allow(ask('a')).allowed, false)
  assert.equal(limiter.allow(ask('b')).remaining, 3)
  assert.throws(() => limiter.reload({ text: 'rules: 1' }), refused('RL_E_CONFIG'))
  assert.throws(() => limiter.reload({ rules: four, clock: Date.now }), refused('RL_E_INVALID_ARGUMENT', /clock/))
  assert.equal(limiter.generation, 2)
})

test('files are read again and watched', async (t) => {
  const file = path.join(folderOf(t), 'rules.json')
  const write = (limit) => writeFileSync(file, JSON.stringify({ version: 1, rules: [{ ...three[0], limit }] }))
  const told = []
  write(3)
  const limiter = limiterOf(t, { file, log: (level, text) => told.push([level, text]) })
  write(4)
  limiter.reloadFile(file)
  assert.equal(limiter.allow(ask('a')).limit, 4)
  limiter.watch(file, 10)
  write(5)
  const until = async (done) => {
    for (let n = 0; n < 3000 && !done(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
    assert.ok(done())
  }
  await until(() => limiter.allow(ask('a')).limit === 5)
  writeFileSync(file, '{')
  await until(() => told.some(([level, text]) => level === 'error' && text.includes('rules.json')))
  limiter.unwatch()
  assert.throws(() => limiter.watch('/no/such/file'), refused('RL_E_IO'))
  assert.throws(() => limiter.reloadFile('/no/such/file'), refused('RL_E_IO'))
  assert.equal(limiter.allow(ask('a')).limit, 5)
})

test('texts, counters and addresses', (t) => {
  const rules = { version: 1, trusted_proxies: ['10.0.0.0/8'], rules: three }
  const limiter = limiterOf(t, { rules })
  const decision = limiter.allow(ask('a'))
  assert.equal(
    limiter.headers(decision),
    'X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 1700000060\r\n'
  )
  assert.match(limiter.headers(decision, Headers.DRAFT_11), /^RateLimit-Policy: "three";q=3;w=180\r\n/)
  assert.equal(limiter.headers(decision, Headers.NONE), '')
  assert.throws(() => limiter.problem(decision), refused('RL_E_INVALID_ARGUMENT', /allowed/))
  assert.match(limiter.explain(ask('a')), /three/)
  assert.equal(JSON.parse(limiter.explain(ask('a'), 'json')).decision.allowed, true)
  assert.match(limiter.prometheus(), /^ratel_requests_total 1$/m)
  assert.equal(limiter.clientIp('10.0.0.1', ['203.0.113.9', '10.0.0.2']), '203.0.113.9')
  assert.equal(limiter.clientIp('10.0.0.1', [], ['for=192.0.2.1']), '192.0.2.1')
  assert.equal(limiter.clientIp('nonsense'), '')
  assert.deepEqual(limiter.ruleMetrics(1), {
    rule: 1,
    allowed: 1,
    denied: 0,
    neverFits: 0,
    shadowDenied: 0,
    costAllowed: 1
  })
  assert.throws(() => limiter.ruleMetrics(77), refused('RL_E_NOT_FOUND'))
  assert.equal(limiter.keyCount(), 1)
  assert.equal(limiter.evictIdle(), 1, 'long ago by the clock')
  assert.equal(limiter.metrics().evictedIdle, 1)
  limiter.allow(ask('a', { cost: 3 }))
  limiter.reset(ask('a'))
  assert.equal(limiter.allow(ask('a')).remaining, 2)
  assert.equal(limiter.ruleName(99), '')
})

test('the twins whose names end in Async, on the embedded store', async (t) => {
  const limiter = limiterOf(t)
  const rule = limiter.ruleId('three')
  const a = { method: 'GET', path: '/x', user: 'a' }
  const decision = await limiter.allowAsync(a)
  assert.equal(decision.remaining, 2)
  assert.equal((await limiter.allowRuleAsync(rule, 'k')).remaining, 2)
  assert.equal((await limiter.peekAsync(a)).remaining, 2)
  assert.equal((await limiter.settleAsync(a, decision, 2)).remaining, 1)
  assert.equal((await limiter.allowManyAsync([a, ask('b')]))[1].remaining, 2)
  await limiter.resetAsync(a)
  assert.equal(limiter.peek(a).remaining, 3)
  assert.match(await limiter.explainAsync(a), /three/)
  assert.equal((await limiter.metricsAsync()).requests, 4)
  assert.match(await limiter.prometheusAsync(), /ratel_requests_total/)
  assert.equal(await limiter.keyCountAsync(), 2)
  assert.equal(await limiter.evictIdleAsync(), 1, 'b was long ago, k is of now')
  await assert.rejects(limiter.allowAsync({ ...a, cost: 0 }), refused('RL_E_INVALID_ARGUMENT'))
  await assert.rejects(limiter.peekAsync(null), refused('RL_E_INVALID_ARGUMENT'))
})

test('a limiter that is closed', async (t) => {
  const limiter = limiterOf(t)
  const decision = limiter.allow(ask('a'))
  assert.equal(limiter.closed, false)
  limiter.close()
  limiter.close()
  assert.equal(limiter.closed, true)
  const calls = {
    allow: [ask('a')],
    isAllowed: [ask('a')],
    allowRule: [1, 'k'],
    allowMany: [[ask('a')]],
    peek: [ask('a')],
    settle: [ask('a'), decision, 1],
    reset: [ask('a')],
    explain: [ask('a')],
    headers: [decision],
    problem: [decision],
    clientIp: ['::1'],
    diff: [{ rules: three }],
    metrics: [],
    ruleMetrics: [1],
    prometheus: [],
    keyCount: [],
    evictIdle: [],
    rules: [],
    ruleId: ['three'],
    ruleName: [1],
    limitName: [1],
    reload: [{ rules: three }],
    reloadFile: ['x'],
    watch: ['x'],
    unwatch: []
  }
  for (const [name, given] of Object.entries(calls)) {
    assert.throws(() => limiter[name](...given), refused('RL_E_STATE', /closed/), name)
    const twin = `${name}Async`
    if (limiter[twin]) await assert.rejects(limiter[twin](...given), refused('RL_E_STATE', /closed/), twin)
  }
  assert.throws(() => limiter.generation, refused('RL_E_STATE'))
  assert.throws(() => Limiter.prototype.allow.call({}, ask('a')), TypeError)
})

test('Symbol.dispose closes', { skip: Symbol.dispose === undefined && 'not in this Node.js' }, () => {
  const limiter = new Limiter({ rules: three })
  limiter[Symbol.dispose]()
  assert.equal(limiter.closed, true)
})

test('a Redis is refused by its URL, or where the engine has none', () => {
  const code = engine().features.includes('redis') ? 'RL_E_INVALID_ARGUMENT' : 'RL_E_UNSUPPORTED'
  assert.throws(
    () => new Limiter({ rules: three, redis: 'nonsense', secret: 'a secret of twenty bytes' }),
    refused(code)
  )
})

test('a region has its share', () => {
  const text = 'regions: {eu: 3, us: 2}\nrules: [{name: a, path: /, scope: user, limit: 5, window: 1d}]'
  for (const [region, limit] of [
    [undefined, 5],
    ['eu', 3],
    ['us', 2]
  ]) {
    const limiter = new Limiter({ text, region })
    assert.equal(limiter.peek({ path: '/', user: 'a' }).limit, limit)
    limiter.close()
  }
  assert.throws(() => new Limiter({ text, region: 'ap' }), { code: 'RL_E_CONFIG', message: /eu, us/ })
})
