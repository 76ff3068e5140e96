const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const { once } = require('node:events')
const { mkdtempSync, readFileSync, rmSync } = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { after, before, describe, test } = require('node:test')
const tls = require('node:tls')
const { Worker } = require('node:worker_threads')
const { Limiter, engine } = require('..')
const { RatelStore } = require('../lib/express-rate-limit.js')
const { RedisServer, missing } = require('./redis-server.js')

const main = JSON.stringify(path.join(__dirname, '..'))
const rules = [
  {
    name: 'five',
    path: '/',
    scope: 'user',
    algorithm: 'token_bucket',
    limit: 5,
    window: '1d',
    on_store_error: 'closed'
  }
]
const ask = (user) => ({ path: '/', user })
const secret = 'a secret of twenty bytes'

describe('Redis', { skip: missing() }, () => {
  let server
  before(async () => {
    server = await new RedisServer().start()
  })
  after(() => server.stop())

  function limiterOf(t, redis = server.url()) {
    const limiter = new Limiter({ rules, redis, secret, log() {} })
    t.after(() => limiter.close())
    return limiter
  }

  test('limiters that share a server get exactly the limit together', async (t) => {
    const limiters = [limiterOf(t), limiterOf(t), limiterOf(t)]
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => limiters[i % 3].allowAsync(ask('shared'))))
    assert.equal(answers.filter((one) => one.allowed).length, 5)
    assert.ok(answers.every((one) => one.source === 'exact' || one.source === 'cached_denial'))
  })

  test('every twin', async (t) => {
    const limiter = limiterOf(t)
    assert.throws(() => limiter.allow(ask('t')), { code: 'RL_E_UNSUPPORTED', message: /allowAsync/ })
    assert.throws(() => limiter.isAllowed(ask('t')), { code: 'RL_E_UNSUPPORTED' })
    const decision = await limiter.allowAsync({ ...ask('t'), cost: 4 })
    assert.equal(decision.remaining, 1)
    assert.equal((await limiter.peekAsync(ask('t'))).remaining, 1)
    assert.equal((await limiter.settleAsync(ask('t'), decision, 2)).remaining, 3)
    assert.match(await limiter.explainAsync(ask('t')), /five/)
    const many = await limiter.allowManyAsync([ask('t'), ask('t'), { ...ask('t'), cost: 0 }, ask('t'), ask('t')])
    assert.deepEqual(
      many.map((one) => one.allowed ?? one.code),
      [true, true, 'RL_E_INVALID_ARGUMENT', true, false]
    )
    await limiter.resetAsync(ask('t'))
    assert.equal((await limiter.peekAsync(ask('t'))).remaining, 5)
    assert.equal((await limiter.metricsAsync()).allowed, 4)
    assert.match(await limiter.prometheusAsync(), /ratel_requests_total/)
    await assert.rejects(limiter.allowAsync({ ...ask('t'), cost: 0 }), { code: 'RL_E_INVALID_ARGUMENT' })
  })

  test('an idempotency id: a repeat is answered as before and charged once', async (t) => {
    const limiters = [limiterOf(t), limiterOf(t)]
    for (const id of ['order-1', 'order-1', new Uint8Array([0, 255]), 'order-1', new Uint8Array([0, 255])]) {
      const decision = await limiters[id.length % 2].allowAsync({ ...ask('once'), idempotencyId: id })
      assert.equal(decision.remaining, typeof id === 'string' ? 4 : 3)
    }
    const many = await limiters[0].allowManyAsync([
      { ...ask('once'), idempotencyId: 'order-1' },
      { ...ask('once'), cost: 2, idempotencyId: 'order-1' }
    ])
    assert.deepEqual(
      many.map((one) => one.remaining),
      [4, 1]
    )
    await assert.rejects(limiters[0].allowAsync({ ...ask('once'), idempotencyId: 7 }), {
      code: 'RL_E_INVALID_ARGUMENT'
    })
  })

  test('rules from a key', async (t) => {
    const lines = []
    const limiter = new Limiter({ rules, log: (_level, text) => lines.push(text) })
    t.after(() => limiter.close())
    limiter.watchRedis(server.url(), 'rules', 100)
    assert.match(lines.join(), /no such key/)
    await server.set('rules', JSON.stringify({ rules: [{ ...rules[0], limit: 7 }] }))
    for (let n = 0; n < 6000 && limiter.generation === 1; n++) await new Promise((resolve) => setTimeout(resolve, 10))
    assert.equal(limiter.peek(ask('a')).limit, 7)
    limiter.unwatch()
    assert.throws(() => limiter.watchRedis('nonsense', 'rules'), { code: 'RL_E_INVALID_ARGUMENT' })
    assert.throws(() => limiter.watchRedis(server.url(), 'rules', -1), { code: 'RL_E_INVALID_ARGUMENT' })
    await server.set('rules', 'rules: [{name: x}]')
    assert.throws(() => limiter.watchRedis(server.url(), 'rules'), { code: 'RL_E_CONFIG' })
  })

  test('a server that is not there: the rule decides', async (t) => {
    const limiter = limiterOf(t, 'redis://127.0.0.1:1?deadline_ms=100')
    const decision = await limiter.allowAsync(ask('a'))
    assert.deepEqual([decision.source, decision.reason], ['fail_closed', 'store'])
    assert.throws(() => new Limiter({ rules, redis: 'nonsense' }), { code: /RL_E_/ })
  })

  test('a limiter that is closed answers nobody any more', async () => {
    const limiter = new Limiter({ rules, redis: server.url(), secret })
    const answers = Array.from({ length: 50 }, () => limiter.allowAsync(ask('closing')))
    const peek = limiter.peekAsync(ask('closing'))
    limiter.close()
    for (const one of [...answers, peek]) await assert.rejects(one, { code: 'RL_E_CANCELLED' })
    await assert.rejects(limiter.allowAsync(ask('closing')), { code: 'RL_E_STATE' })
  })

  test('a process waits for its answers, and then ends', () => {
    const code = `const { Limiter } = require(${main})
      const limiter = new Limiter({ rules: ${JSON.stringify(rules)}, redis: ${JSON.stringify(server.url())}, secret: '${secret}' })
      limiter.allowAsync({ path: '/', user: 'p' }).then((one) => console.log(one.remaining))`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8', timeout: 60_000 })
    assert.deepEqual([status, stdout], [0, '4\n'], stderr)
  })

  test('workers may be terminated while answers are awaited', async () => {
    const code = `const { Limiter } = require(${main})
      const { parentPort } = require('node:worker_threads')
      const limiter = new Limiter({ rules: ${JSON.stringify(rules)}, redis: ${JSON.stringify(server.url())}, secret: '${secret}' })
      const go = () => limiter.allowAsync({ path: '/', user: 'w' }).then(go)
      for (let i = 0; i < 100; i++) go()
      limiter.peekAsync({ path: '/', user: 'w' }).then(() => parentPort.postMessage('busy'))`
    for (let round = 0; round < 5; round++) {
      const worker = new Worker(code, { eval: true })
      await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
      await worker.terminate()
    }
  })

  // Two copies of OpenSSL in one process, both at work.
  test("TLS beside Node's own", { skip: !engine().features.includes('tls') && 'built without TLS' }, async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'ratel-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = (name) => path.join(folder, name)
    for (const name of ['own', 'other']) {
      const of = ['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`), '-days', '2', '-subj', '/CN=localhost']
      const given = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-addext', 'subjectAltName=IP:127.0.0.1', ...of]
      assert.equal(spawnSync('openssl', given).status, 0)
    }
    const place = net.createServer().listen(0, '127.0.0.1')
    await once(place, 'listening')
    const { port } = place.address()
    await new Promise((resolve) => place.close(resolve))
    const files = [
      '--tls-cert-file',
      file('own.pem'),
      '--tls-key-file',
      file('own.key'),
      '--tls-ca-cert-file',
      file('own.pem')
    ]
    const secured = await new RedisServer().start(['--tls-port', port, '--tls-auth-clients', 'no', ...files])
    t.after(() => secured.stop())

    const [cert, key] = [readFileSync(file('own.pem')), readFileSync(file('own.key'))]
    const nodes = tls.createServer({ cert, key }, (socket) => socket.end('from Node')).listen(0, '127.0.0.1')
    t.after(() => nodes.close())
    await once(nodes, 'listening')
    const hear = async () => {
      const socket = tls.connect({ host: '127.0.0.1', port: nodes.address().port, ca: cert })
      const [text] = await once(socket, 'data')
      socket.destroy()
      return text.toString()
    }

    const url = (ca) => `rediss://127.0.0.1:${port}?deadline_ms=20000&ca=${file(ca)}`
    const [good, distrusting] = [limiterOf(t, url('own.pem')), limiterOf(t, url('other.pem'))]
    let admitted = 0
    for (let i = 0; i < 10; i++) {
      const [decision, refused, heard] = await Promise.all([
        good.allowAsync(ask('tls')),
        distrusting.allowAsync(ask('tls')),
        hear()
      ])
      assert.equal(decision.source, 'exact')
      assert.equal(refused.source, 'fail_closed')
      assert.equal(heard, 'from Node')
      admitted += decision.allowed
    }
    assert.equal(admitted, 5)
  })

  test('a store of express-rate-limit on it', async (t) => {
    const stores = [0, 1].map(() => new RatelStore({ redis: server.url(), secret }))
    t.after(() => {
      for (const store of stores) store.shutdown()
    })
    for (const store of stores) store.init({ windowMs: 86_400_000 })
    assert.equal((await stores[0].increment('k')).totalHits, 1)
    assert.equal((await stores[1].increment('k')).totalHits, 2)
    await stores[0].decrement('k')
    assert.equal((await stores[1].get('k')).totalHits, 1)
    await stores[1].resetKey('k')
    assert.equal(await stores[0].get('k'), undefined)
  })
})
