// Workers, the end of a process, and memory.

const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const path = require('node:path')
const { test } = require('node:test')
const { Worker } = require('node:worker_threads')
const { Limiter } = require('..')
const { MapStorage } = require('./map-storage.js')

const main = JSON.stringify(path.join(__dirname, '..'))
const prelude = `
const { Limiter } = require(${main})
const rules = [{ name: 'r', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 5, window: '1d' }]
const folder = ${JSON.stringify(__dirname)}
const later = { applyAsync: async (op) => { await new Promise((done) => setImmediate(done)); op.step() } }
const never = { applyAsync: () => new Promise(() => {}), count: () => new Promise(() => {}) }
const ask = { path: '/', user: 'a' }
`

function run(code, ...flags) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', prelude + code], {
    encoding: 'utf8',
    timeout: 60_000
  })
  assert.equal(signal, null, stderr)
  return { status, stdout: stdout.trim(), stderr }
}

const endings = {
  'with a limiter open': "new Limiter({ rules }).allow(ask); console.log('end')",
  'with a clock and a log': "new Limiter({ rules, clock: Date.now, log() {} }).allow(ask); console.log('end')",
  'with a watch':
    "new Limiter({ rules }).watch(require('node:path').join(folder, 'rules.json'), 10); console.log('end')",
  'with a storage that never answers': "new Limiter({ rules, storage: never }).allowAsync(ask); console.log('end')",
  'with a thread that waits for a storage that never answers':
    "const l = new Limiter({ rules, storage: never }); l.peekAsync(ask); l.peekAsync(ask); l.metricsAsync(); console.log('end')",
  'with a limiter closed that waited':
    "const l = new Limiter({ rules, storage: never }); l.allowAsync(ask).catch((e) => console.log(e.code)); const p = l.peekAsync(ask); setTimeout(() => { l.close(); p.catch(() => console.log('end')) }, 20)",
  'after answers of another thread':
    "new Limiter({ rules, storage: later }).peekAsync(ask).then(() => console.log('end'))",
  'by process.exit while a thread waits':
    "new Limiter({ rules, storage: never }).peekAsync(ask); setTimeout(() => { console.log('end'); process.exit(0) }, 50)",
  'by process.exit within a storage':
    "new Limiter({ rules, storage: { apply() { console.log('end'); process.exit(0) } } }).allow(ask)",
  'by process.exit within a clock': "new Limiter({ rules, clock() { console.log('end'); process.exit(0) } }).allow(ask)"
}
for (const [name, code] of Object.entries(endings)) {
  test(`a process ends ${name}`, () => {
    const { status, stdout, stderr } = run(code)
    assert.deepEqual([status, stdout.split('\n').pop()], [0, 'end'], stderr)
  })
}

test('an uncaught exception passes through', () => {
  const { status, stderr } = run("new Limiter({ rules }); throw new Error('mine')")
  assert.equal(status, 1)
  assert.match(stderr, /Error: mine/)
})

function inWorker(code) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(`const { parentPort } = require('node:worker_threads');${prelude}${code}`, { eval: true })
    let message
    worker.on('message', (value) => {
      message = value
      if (value === 'terminate') worker.terminate()
    })
    worker.on('error', reject)
    worker.on('exit', () => resolve(message))
  })
}

test('workers have limiters of their own', async () => {
  const code = `
    const limiter = new Limiter({ rules, storage: later })
    const plain = new Limiter({ rules, clock: Date.now })
    let allowed = 0
    for (let i = 0; i < 2000; i++) if (plain.allow(ask).allowed) allowed++
    Promise.all(Array.from({ length: 100 }, () => limiter.allowAsync(ask))).then((all) => parentPort.postMessage([allowed, all.length]))`
  for (let round = 0; round < 3; round++) {
    const results = await Promise.all([inWorker(code), inWorker(code), inWorker(code)])
    assert.deepEqual(results, [
      [5, 100],
      [5, 100],
      [5, 100]
    ])
  }
})

test('workers may be terminated at any time', async () => {
  const codes = [
    "const l = new Limiter({ rules, storage: never }); l.allowAsync(ask); l.peekAsync(ask); parentPort.postMessage('terminate'); setInterval(() => {}, 1000)",
    "const l = new Limiter({ rules, storage: never }); const p = l.peekAsync(ask); setImmediate(() => { l.close(); p.catch((e) => parentPort.postMessage(e.code === 'RL_E_CANCELLED' ? 'terminate' : e.code)) })",
    "for (const s of [never, never, later]) new Limiter({ rules, storage: s }).peekAsync(ask); parentPort.postMessage('terminate')",
    "const l = new Limiter({ rules, clock: Date.now, log() {} }); parentPort.postMessage('terminate'); for (;;) l.allow(ask)",
    "const l = new Limiter({ rules, storage: { apply(op) { for (;;) op.step() } } }); parentPort.postMessage('terminate'); l.allow(ask)",
    "const l = new Limiter({ rules, storage: later }); parentPort.postMessage('terminate'); const go = () => l.peekAsync(ask).then(go); go()"
  ]
  for (const code of [...codes, ...codes]) assert.equal(await inWorker(code), 'terminate')
})

const many = 1_000_000
const settled = () => new Promise((resolve) => setTimeout(resolve, 50))

/** Megabytes that a million calls leave behind, after as many that warm up. */
async function grown(body) {
  await body(many / 10)
  globalThis.gc?.()
  await settled()
  const before = process.memoryUsage().rss
  await body(many)
  globalThis.gc?.()
  await settled()
  return (process.memoryUsage().rss - before) / 2 ** 20
}

const rules = [{ name: 'r', path: '/', scope: 'user', algorithm: 'token_bucket', limit: 5, window: '1d' }]

test('a million calls leave nothing behind', async (t) => {
  const limiter = new Limiter({ rules })
  t.after(() => limiter.close())
  const request = { method: 'GET', path: '/some/path', user: 'somebody', attributes: { plan: 'pro' } }
  const left = await grown((times) => {
    for (let i = 0; i < times; i++) limiter.allow(request)
  })
  assert.ok(left < 64, `${left} MiB`)
  const refused = await grown((times) => {
    for (let i = 0; i < times / 10; i++) {
      try {
        limiter.allow({ path: '/', cost: 0 })
      } catch {}
    }
  })
  assert.ok(refused < 64, `${refused} MiB of errors`)
})

test('calls into JavaScript leave nothing behind', async (t) => {
  const limiter = new Limiter({ rules, clock: Date.now, storage: new MapStorage(() => Date.now() * 1000) })
  t.after(() => limiter.close())
  const left = await grown(async (times) => {
    for (let i = 0; i < times / 10; i++) limiter.allow({ path: '/', user: 'a' })
  })
  assert.ok(left < 64, `${left} MiB`)
  const later = new Limiter({ rules, storage: { applyAsync: async (op) => op.step() } })
  t.after(() => later.close())
  const awaited = await grown(async (times) => {
    for (let i = 0; i < times / 100; i++) {
      await later.allowAsync({ path: '/', user: 'a' })
      await later.peekAsync({ path: '/', user: 'a' })
    }
  })
  assert.ok(awaited < 64, `${awaited} MiB`)
})

test('limiters come and go', async () => {
  const left = await grown(async (times) => {
    for (let i = 0; i < times / 500; i++) new Limiter({ rules, clock: Date.now }).close()
  })
  assert.ok(left < 64, `${left} MiB`)
})

test('limiters come and go whose storage never answers', async () => {
  const storage = { applyAsync: () => new Promise(() => {}) }
  const left = await grown(async (times) => {
    for (let i = 0; i < times / 1000; i++) {
      const limiter = new Limiter({ rules, storage, clock: Date.now })
      const asked = [
        limiter.allowAsync({ path: '/' }),
        limiter.peekAsync({ path: '/' }),
        limiter.peekAsync({ path: '/' })
      ]
      await new Promise((resolve) => setImmediate(resolve))
      limiter.close()
      for (const one of asked) await assert.rejects(one, { code: 'RL_E_CANCELLED' })
    }
  })
  assert.ok(left < 64, `${left} MiB`)
})

test('a limiter that is no longer reachable ends by itself', {
  skip: !globalThis.gc && 'wants --expose-gc'
}, async () => {
  const left = await grown(async (times) => {
    for (let i = 0; i < times / 1000; i++) new Limiter({ rules }).allow({ path: '/', user: 'a' })
    globalThis.gc()
    await settled()
    globalThis.gc()
    await settled()
  })
  assert.ok(left < 64, `${left} MiB`)
})
