const assert = require('node:assert/strict')
const { once } = require('node:events')
const http = require('node:http')
const http2 = require('node:http2')
const net = require('node:net')
const { test } = require('node:test')
const express = require('express')
const { Limiter, Headers } = require('..')
const { rateLimit, decisionOf } = require('../lib/express.js')
const { SlowStorage } = require('./map-storage.js')

const RULES = `
version: 1
headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}
trusted_proxies: [127.0.0.0/8]
rules:
  - {name: orders, path: /orders, scope: user, algorithm: token_bucket, limit: 3, window: 3d}
  - {name: keys, path: /keys, scope: api_key, algorithm: token_bucket, limit: 1, window: 1d}
  - {name: pro, path: /plans, when: {plan: pro}, scope: user, algorithm: token_bucket, limit: 1, window: 1d}
  - {name: slow, path: /slow, scope: user, algorithm: leaky_bucket, limit: 2, window: 1s, burst: 100}
  - {name: shut, path: /shut, action: block}
  - {name: mine, path: /down, scope: ip, algorithm: token_bucket, limit: 1, window: 1d, on_store_error: closed}
  - {name: open, path: /open, scope: ip, algorithm: token_bucket, limit: 1, window: 1d, on_store_error: open}
  - {name: addresses, path: /addresses, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}
`

const hooks = {
  user: (req) => req.headers['x-user'],
  apiKey: (req) => req.headers['x-api-key'],
  cost: (req) => (req.headers['x-cost'] === undefined ? undefined : Number(req.headers['x-cost']))
}

function limiterOf(t, options) {
  const limiter = new Limiter({ text: RULES, ...options })
  t.after(() => limiter.close())
  return limiter
}

async function listen(t, server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections?.()
  })
  return server.address().port
}

/** An app with the middleware in front, and what asks it. */
async function appOf(t, options = hooks, limiter = limiterOf(t), handler = (_, res) => res.send('served')) {
  const app = express()
  app.use(rateLimit(limiter, options))
  app.all('/{*any}', handler)
  const port = await listen(t, http.createServer(app))
  const ask = async (path, headers = {}, method = 'GET') => {
    const req = http.request({ port, host: '127.0.0.1', path, method, headers })
    req.end()
    const [res] = await once(req, 'response')
    let body = ''
    for await (const chunk of res.setEncoding('utf8')) body += chunk
    return { status: res.statusCode, headers: res.headers, raw: res.rawHeaders, body }
  }
  return { ask, port, limiter }
}

test('the first 429', async (t) => {
  const { ask } = await appOf(t)
  const answers = []
  for (let i = 0; i < 4; i++) answers.push(await ask('/orders', { 'x-user': 'alice' }))
  assert.deepEqual(
    answers.map((one) => one.status),
    [200, 200, 200, 429]
  )
  assert.equal(answers[0].body, 'served')
  assert.equal(answers[0].headers['x-ratelimit-remaining'], '2')
  assert.equal(answers[0].headers.ratelimit, '"orders";r=2;t=86400')
  assert.ok(answers[0].raw.includes('X-RateLimit-Limit'), 'names are written as the engine has them')
  const denied = answers[3]
  assert.match(denied.headers['content-type'], /^application\/problem\+json/)
  assert.ok(Number(denied.headers['retry-after']) > 86000)
  const problem = JSON.parse(denied.body)
  assert.deepEqual([problem.status, problem.reason, problem.rule], [429, 'limited', 'orders'])
  assert.equal((await ask('/orders', { 'x-user': 'bob' })).status, 200)
  const head = await ask('/orders', { 'x-user': 'alice' }, 'HEAD')
  assert.deepEqual([head.status, head.body, head.headers['x-ratelimit-remaining']], [429, '', '0'])
})

test('a cost that never fits has no Retry-After', async (t) => {
  const { ask } = await appOf(t)
  const answer = await ask('/orders', { 'x-user': 'alice', 'x-cost': '4' })
  assert.deepEqual(
    [answer.status, answer.headers['retry-after'], JSON.parse(answer.body).reason],
    [429, undefined, 'never_fits']
  )
})

test('hooks', async (t) => {
  const { ask } = await appOf(t, {
    ...hooks,
    attributes: (req) => ({ plan: req.headers['x-plan'] ?? 'free' }),
    skip: (req) => req.headers['x-skip'] !== undefined
  })
  const statuses = async (path, ...list) => {
    const out = []
    for (const headers of list) out.push((await ask(path, headers)).status)
    return out
  }
  assert.deepEqual(
    await statuses('/keys', { 'x-api-key': 'a' }, { 'x-api-key': 'a' }, { 'x-api-key': 'b' }),
    [200, 429, 200]
  )
  assert.deepEqual(
    await statuses('/plans', { 'x-user': 'a', 'x-plan': 'pro' }, { 'x-user': 'a', 'x-plan': 'pro' }, { 'x-user': 'a' }),
    [200, 429, 200]
  )
  assert.deepEqual(
    await statuses('/orders', { 'x-user': 's', 'x-cost': '3' }, { 'x-user': 's', 'x-skip': '1' }, { 'x-user': 's' }),
    [200, 200, 429]
  )
  assert.equal((await ask('/orders', { 'x-skip': '1' })).headers['x-ratelimit-limit'], undefined)
})

test('hooks that take their time', async (t) => {
  const soon = (value) => new Promise((resolve) => setImmediate(resolve, value))
  const { ask } = await appOf(t, {
    user: (req) => soon(req.headers['x-user']),
    cost: () => soon(2),
    skip: (req) => soon(req.headers['x-skip'] === '1')
  })
  assert.equal((await ask('/orders', { 'x-user': 'a' })).headers['x-ratelimit-remaining'], '1')
  assert.equal((await ask('/orders', { 'x-user': 'a' })).status, 429)
  assert.equal((await ask('/orders', { 'x-user': 'a', 'x-skip': '1' })).status, 200)
})

test("a hook that throws is the application's own fault", async (t) => {
  t.mock.method(console, 'error', () => {})
  for (const user of [
    () => {
      throw new Error('mine')
    },
    async () => {
      throw new Error('mine')
    }
  ]) {
    const { ask } = await appOf(t, { user })
    assert.equal((await ask('/orders')).status, 500)
  }
})

test('no decision: 400 for what the request is to blame for, else 503', async (t) => {
  const { ask, limiter } = await appOf(t)
  for (const cost of ['0', '-1', '1.5', 'x', '1e30'])
    assert.equal((await ask('/orders', { 'x-user': 'a', 'x-cost': cost })).status, 400, cost)
  assert.equal((await ask('/orders', { 'x-user': 'a' })).headers['x-ratelimit-remaining'], '2')
  limiter.close()
  const answer = await ask('/orders')
  assert.deepEqual([answer.status, answer.body], [503, 'the limits could not be checked\n'])
  const failed = (_req, res, error) => res.status(418).send(error.code)
  const own = await appOf(t, { failed }, limiter)
  assert.deepEqual([(await own.ask('/')).status, (await own.ask('/')).body], [418, 'RL_E_STATE'])
  const asked = await appOf(t, { failed: (_req, _res, error, next) => next(error) }, limiter)
  t.mock.method(console, 'error', () => {})
  assert.equal((await asked.ask('/')).status, 500, 'since it was asked for')
})

test('blocked is 403, and has no fields', async (t) => {
  const { ask } = await appOf(t)
  const answer = await ask('/shut')
  assert.deepEqual(
    [answer.status, JSON.parse(answer.body).reason, answer.headers['x-ratelimit-limit']],
    [403, 'blocked', undefined]
  )
})

test('denied answers in its own way, with the fields set', async (t) => {
  const { ask } = await appOf(t, {
    ...hooks,
    denied: (_req, res, decision) => res.status(420).json({ wait: decision.retryAfterMs > 0 })
  })
  const answer = await ask('/orders', { 'x-user': 'a', 'x-cost': '4' })
  assert.deepEqual([answer.status, answer.body, answer.headers['x-ratelimit-limit']], [420, '{"wait":true}', '3'])
})

test("a hook that fails is the application's error, whichever way it fails", async (t) => {
  const throws = (text) => () => {
    throw new Error(text)
  }
  const rejects = (text) => async () => {
    throw new Error(text)
  }
  const late = async () => 'a'
  const cost = () => 4
  for (const options of [
    { user: late, cost, denied: throws('denied') },
    { user: late, cost, denied: rejects('denied') },
    { user: () => 'a', cost, denied: rejects('denied') },
    { user: rejects('user'), failed: throws('failed') },
    { user: rejects('user'), failed: rejects('failed') },
    { user: rejects('user'), cost: throws('cost'), failed: (_req, _res, error, next) => next(error) }
  ]) {
    const { ask } = await appOf(t, options)
    assert.equal((await ask('/orders')).status, 500)
  }
})

test('fields that node has cut off are not taken for all', async (t) => {
  const app = express()
  app.use(rateLimit(limiterOf(t), {}))
  app.all('/{*any}', (_, res) => res.send('served'))
  const server = http.createServer(app)
  const port = await listen(t, server)
  const ask = async (fillers) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(
      `GET /addresses HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.6\r\n${'a:\r\n'.repeat(fillers)}` +
        'X-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n'
    )
    let text = ''
    for await (const chunk of socket.setEncoding('latin1')) text += chunk
    return Number(text.slice(9, 12))
  }
  assert.equal(await ask(0), 200)
  assert.equal(await ask(1500), 400)
  server.maxHeadersCount = 0
  assert.equal(await ask(1500), 200)
  assert.equal(await ask(0), 429, 'all three came from the last address')
})

test('header flags', async (t) => {
  const { ask } = await appOf(t, { ...hooks, headers: Headers.DRAFT_6 })
  const { headers } = await ask('/orders', { 'x-user': 'a' })
  assert.deepEqual([headers['ratelimit-limit'], headers['x-ratelimit-limit']], ['3', undefined])
  assert.throws(() => rateLimit(limiterOf(t), { headers: 'x' }), { code: 'RL_E_INVALID_ARGUMENT' })
  assert.throws(() => rateLimit(limiterOf(t), { users: () => 'x' }), {
    code: 'RL_E_INVALID_ARGUMENT',
    message: /users/
  })
  assert.throws(() => rateLimit(limiterOf(t), { user: 'x' }), { code: 'RL_E_INVALID_ARGUMENT' })
  assert.throws(() => rateLimit({}), { code: 'RL_E_INVALID_ARGUMENT' })
})

test('fields are those that the limiter tells, whichever they are', async (t) => {
  const { X, RESET_DELTA, RETRY_AFTER, DRAFT_11, DRAFT_8, DRAFT_7, DRAFT_6, NONE } = Headers
  const clock = () => 1_700_000_000_000
  for (const flags of [X, X | RESET_DELTA, RETRY_AFTER, DRAFT_11, DRAFT_8, DRAFT_7, X | RETRY_AFTER | DRAFT_6, NONE]) {
    const [there, here] = [limiterOf(t, { clock }), limiterOf(t, { clock })]
    const { ask } = await appOf(t, { ...hooks, headers: flags }, there)
    for (const status of [200, 200, 200, 429]) {
      const answer = await ask('/orders', { 'X-User': 'alice' })
      const told = here.headers(here.allow({ method: 'GET', path: '/orders', user: 'alice' }), flags)
      const lines = told.split('\r\n').filter((line) => line !== '')
      const sent = []
      for (let i = 0; i < answer.raw.length; i += 2) {
        if (/^(x-ratelimit|ratelimit|retry-after)/i.test(answer.raw[i]))
          sent.push(answer.raw.slice(i, i + 2).join(': '))
      }
      assert.equal(answer.status, status)
      assert.deepEqual(sent, lines, `${flags}`)
    }
  }
})

test('the client is the first that is not trusted, over all lines', async (t) => {
  const { ask } = await appOf(t, {})
  const statuses = []
  for (let i = 0; i < 4; i++) {
    statuses.push(
      (await ask('/addresses', { 'X-Forwarded-For': [`198.51.100.${i}`, '203.0.113.1', '127.0.0.9'] })).status
    )
  }
  assert.deepEqual(statuses, [200, 200, 429, 429])
  assert.equal((await ask('/addresses', { 'X-Forwarded-For': '203.0.113.2' })).status, 200)
  assert.equal(
    (await ask('/addresses', { Forwarded: ['for="1.2.3.4', 'for=203.0.113.1'] })).status,
    429,
    'a line that is cut does not swallow the next'
  )
})

test('store trouble follows the rule, never a 500', async (t) => {
  const down = () => {
    throw new Error('down')
  }
  for (const storage of [{ apply: down }, { applyAsync: down }]) {
    const { ask } = await appOf(t, {}, limiterOf(t, { storage, log() {} }))
    const closed = await ask('/down')
    assert.deepEqual(
      [closed.status, JSON.parse(closed.body).reason, closed.headers['retry-after']],
      [503, 'store', undefined]
    )
    assert.equal((await ask('/open')).status, 200)
    assert.deepEqual(
      [(await ask('/orders')).status, (await ask('/orders')).status],
      [200, 200],
      'a local limit decides'
    )
  }
})

test('a storage that answers later', async (t) => {
  const { ask } = await appOf(t, hooks, limiterOf(t, { storage: new SlowStorage(() => Date.now() * 1000) }))
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/orders', { 'x-user': 'a' })))
  assert.equal(answers.filter((one) => one.status === 200).length, 3)
  assert.ok(answers.every((one) => one.headers['x-ratelimit-limit'] === '3'))
})

test('a handler settles what the work did cost', async (t) => {
  const limiter = limiterOf(t)
  const settle = (req, res) => {
    const { request, decision } = decisionOf(req)
    limiter.settle(request, decision, 1)
    res.send('settled')
  }
  const { ask } = await appOf(t, { ...hooks, keepDecision: true }, limiter, settle)
  await ask('/orders', { 'x-user': 'a', 'x-cost': '3' })
  assert.equal((await ask('/orders', { 'x-user': 'a' })).headers['x-ratelimit-remaining'], '1')
  await ask('/addresses', { 'x-cost': '2' })
  assert.equal((await ask('/addresses')).headers['x-ratelimit-remaining'], '0', 'the address is part of what was asked')
  assert.equal(decisionOf({}), undefined)
})

test('what a leaky bucket lets in is held back, unless it is told not to', async (t) => {
  const { ask } = await appOf(t)
  const begin = process.hrtime.bigint()
  assert.deepEqual(
    [(await ask('/slow', { 'x-user': 'a' })).status, (await ask('/slow', { 'x-user': 'a' })).status],
    [200, 200]
  )
  assert.ok(process.hrtime.bigint() - begin >= 400_000_000n)
  const { ask: hurried } = await appOf(t, { ...hooks, ignoreDelay: true })
  const answers = await Promise.all(Array.from({ length: 50 }, () => hurried('/slow', { 'x-user': 'b' })))
  assert.ok(answers.every((one) => one.status === 200))
})

test('a client that goes while it is held back is not served', async (t) => {
  let served = 0
  const { ask, port } = await appOf(t, hooks, limiterOf(t), (_, res) => {
    served++
    res.send('served')
  })
  await ask('/slow', { 'x-user': 'a' })
  const req = http.request({ port, host: '127.0.0.1', path: '/slow', headers: { 'x-user': 'a' } })
  req.on('error', () => {})
  req.end()
  await new Promise((resolve) => setTimeout(resolve, 150))
  req.destroy()
  await new Promise((resolve) => setTimeout(resolve, 1200))
  assert.equal(served, 1)
})

test('bodies stream through, also those of who aborts', async (t) => {
  let received = 0
  const { ask, port } = await appOf(t, hooks, limiterOf(t), async (req, res) => {
    try {
      for await (const chunk of req) received += chunk.length
      res.send(String(received))
    } catch {}
  })
  const post = (size) =>
    http.request({ port, host: '127.0.0.1', path: '/any', method: 'POST', headers: { 'content-length': size } })
  const whole = post(1 << 20)
  whole.end(Buffer.alloc(1 << 20))
  const [res] = await once(whole, 'response')
  assert.equal(Number((await res.setEncoding('utf8').toArray()).join('')), 1 << 20)
  const cut = post(1 << 20)
  cut.on('error', () => {})
  cut.write(Buffer.alloc(1000))
  await new Promise((resolve) => setTimeout(resolve, 50))
  cut.destroy()
  assert.equal((await ask('/any')).status, 200)
})

test('an answer streams piece by piece', async (t) => {
  let finish
  const { port } = await appOf(t, hooks, limiterOf(t), (_, res) => {
    res.write('first')
    finish = () => res.end('second')
  })
  const req = http.get({ port, host: '127.0.0.1', path: '/any' })
  const [res] = await once(req, 'response')
  res.setEncoding('utf8')
  assert.equal((await once(res, 'data'))[0], 'first')
  finish()
  assert.equal((await once(res, 'data'))[0], 'second')
})

test('HTTP/2', async (t) => {
  const middleware = rateLimit(limiterOf(t), hooks)
  const server = http2.createServer((req, res) => middleware(req, res, () => res.end('served')))
  const port = await listen(t, server)
  const session = http2.connect(`http://127.0.0.1:${port}`)
  t.after(() => session.destroy())
  const ask = async (headers) => {
    const stream = session.request({ ':path': '/orders', ...headers })
    const [fields] = await once(stream, 'response')
    return { status: fields[':status'], fields, body: (await stream.setEncoding('utf8').toArray()).join('') }
  }
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ 'x-user': 'alice' })))
  assert.deepEqual(answers.map((one) => one.status).sort(), [200, 200, 200, 429, 429])
  assert.equal(answers[0].fields['x-ratelimit-limit'], '3')
  assert.equal(JSON.parse(answers.find((one) => one.status === 429).body).reason, 'limited')
  const stream = session.request({ ':path': '/orders', 'x-user': 'gone' })
  stream.close(http2.constants.NGHTTP2_CANCEL)
  await once(stream, 'close')
  assert.equal((await ask({ 'x-user': 'bob' })).status, 200)
})

test('what comes after the middleware may throw', async (t) => {
  const middleware = rateLimit(limiterOf(t), hooks)
  const thrown = new Error('mine')
  let calls = 0
  const next = () => {
    calls++
    throw thrown
  }
  const req = { method: 'GET', url: '/orders', headers: {}, rawHeaders: [] }
  const res = { setHeader() {} }
  assert.throws(() => middleware(req, res, next), thrown)
  assert.equal(calls, 1)
})

test('mounted below a path, the whole path counts', async (t) => {
  const app = express()
  app.use('/orders', rateLimit(limiterOf(t), hooks), (_, res) => res.send('served'))
  const port = await listen(t, http.createServer(app))
  const res = await fetch(`http://127.0.0.1:${port}/orders/1`, { headers: { 'x-user': 'a' } })
  assert.equal(res.headers.get('x-ratelimit-limit'), '3')
})

test('parallel requests get exactly the limit', async (t) => {
  const { ask } = await appOf(
    t,
    hooks,
    limiterOf(t, { text: RULES.replace('limit: 3, window: 3d', 'limit: 50, window: 50d') })
  )
  const answers = await Promise.all(Array.from({ length: 120 }, () => ask('/orders', { 'x-user': 'p' })))
  assert.equal(answers.filter((one) => one.status === 200).length, 50)
})

test('hostile requests are limited and harm nobody', async (t) => {
  const { ask, port } = await appOf(t, hooks)
  const odd = [
    '/%00',
    '/%ff',
    '/a/../../etc',
    '//x',
    '/'.repeat(500),
    `/${'x'.repeat(8000)}`,
    '/%F0%9F%98%80?a=%',
    '/;a=b',
    '/caf%C3%A9'
  ]
  for (const path of odd)
    assert.ok((await ask(path, { 'x-user': 'ü', 'x-forwarded-for': '\xff\xfe' })).status < 500, path)
  const socket = require('node:net').connect(port, '127.0.0.1')
  socket.write(
    Buffer.from(
      'GET /orders/\xe9 HTTP/1.1\r\nHost: a\r\nX-User: \xe9\xff\r\nX-Forwarded-For: \xff, 1.2.3.4\r\nConnection: close\r\n\r\n',
      'latin1'
    )
  )
  const text = (await socket.setEncoding('latin1').toArray()).join('')
  assert.match(text, /^HTTP\/1\.1 (200|400|404)/)
  assert.equal((await ask('/orders', { 'x-user': 'z' })).status, 200)
})
