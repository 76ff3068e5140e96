// tests/vectors, field by field: on the embedded store, on a storage in JavaScript, and on one that answers later; the
// time as an argument and from a
// clock in JavaScript.

const assert = require('node:assert/strict')
const { readdirSync, readFileSync } = require('node:fs')
const path = require('node:path')
const { after, before, test } = require('node:test')
const { Limiter, Headers, RatelError } = require('..')
const { MapStorage, SlowStorage } = require('./map-storage.js')
const { RedisServer, missing } = require('./redis-server.js')

const folder = path.join(__dirname, '../../../tests/vectors')
const files = readdirSync(folder).filter((name) => name.endsWith('.json') && !name.endsWith('.schema.json'))

const FORMS = {
  x: Headers.X,
  reset_delta: Headers.RESET_DELTA,
  retry_after: Headers.RETRY_AFTER,
  draft_11: Headers.DRAFT_11,
  draft_8: Headers.DRAFT_8,
  draft_7: Headers.DRAFT_7,
  draft_6: Headers.DRAFT_6,
  none: Headers.NONE
}

const BIG = 'big:'

/** Numbers that a double may not hold become bigints. */
const parse = (json) =>
  JSON.parse(json.replace(/([[:,]\s*)(-?\d{16,})(?=[\s,\]}])/g, `$1"${BIG}$2"`), (_, value) =>
    typeof value === 'string' && value.startsWith(BIG) ? narrow(BigInt(value.slice(BIG.length))) : value
  )

const narrow = (big) => (Number.isSafeInteger(Number(big)) ? Number(big) : big)

function sourceOf({ rules, rules_text: ready }) {
  if (ready !== undefined) return { text: text(ready) }
  const json = JSON.stringify(rules, (_, value) => (typeof value === 'bigint' ? BIG + value : value))
  return json.includes(BIG) ? { text: json.replace(new RegExp(`"${BIG}(-?\\d+)"`, 'g'), '$1') } : { rules }
}

/** A string of a vector: as it stands, as hex, or repeated. */
function text(value) {
  if (value === undefined || typeof value === 'string') return value
  return value.hex === undefined ? value.repeat.repeat(value.times) : Buffer.from(value.hex, 'hex')
}

const texts = (list) => (list ?? []).map(text)
const nanoseconds = (us) => (us === Number.POSITIVE_INFINITY ? '18446744073709551615' : String(BigInt(us) * 1000n))
const snake = (object) =>
  Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value
    ])
  )

const noRedis = missing()
const redis = new RedisServer()
let vectorsRun = 0
if (!noRedis) {
  before(() => redis.start())
  after(() => redis.stop())
}

class Replay {
  constructor(vector, kind, byClock) {
    this.vector = vector
    this.byClock = byClock
    this.base = BigInt(vector.base)
    this.now = this.base
    this.decided = []
    const nowUs = () => Number(this.now / 1000n)
    this.kind = kind
    this.later = kind === 'async' || kind === 'redis'
    const storage = { embedded: undefined, host: new MapStorage(nowUs), async: new SlowStorage(nowUs) }[kind]
    this.limiter = new Limiter({
      ...sourceOf(vector),
      secret: `the secret of vector ${++vectorsRun}`, // no two meet in one Redis
      clock: byClock ? () => this.now : undefined,
      storage,
      redis: kind === 'redis' ? redis.url('&time=caller&ttl_margin_ms=3600000') : undefined
    })
  }

  /** A method of the limiter, or its twin for storages that answer later. */
  ask(name, ...given) {
    return this.later ? this.limiter[`${name}Async`](...given) : this.limiter[name](...given)
  }

  request(form) {
    return {
      method: text(form.method),
      path: text(form.path),
      user: text(form.user),
      apiKey: text(form.api_key),
      ip: text(form.ip),
      key: text(form.key),
      cost: form.cost,
      rule: form.rule === undefined ? undefined : this.limiter.ruleId(text(form.rule)),
      time: this.byClock ? undefined : this.now,
      attributes: form.attributes?.map(({ name, value }) => [text(name), text(value)])
    }
  }

  told(d) {
    return {
      status: 'RL_OK',
      allowed: d.allowed,
      source: d.source,
      reason: d.reason,
      shadow_denied: d.shadowDenied,
      peeked: d.peeked,
      rule: this.limiter.ruleName(d.rule),
      limit_name: this.limiter.limitName(d.limitId),
      limit_count: d.limitCount,
      generation: d.generation,
      cost: d.cost,
      limit: d.limit,
      window_ns: nanoseconds(d.windowUs),
      capacity: d.capacity,
      remaining: d.remaining,
      retry_after_ns: nanoseconds(d.retryAfterUs),
      reset_after_ns: nanoseconds(d.resetAfterUs),
      delay_ns: nanoseconds(d.delayUs)
    }
  }

  /** What came of it, or the status of why not. */
  async outcome(ask) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof RatelError)) throw error
      return error
    }
  }

  answer(result) {
    return result instanceof RatelError ? { status: result.code } : this.told(result)
  }

  compare(expected, told) {
    for (const name of Object.keys(expected)) {
      assert.deepEqual(told[name], expected[name], name)
    }
  }

  /** By the clock, a request that is a rule and a key takes the short way. */
  decide(op, form) {
    const request = this.request(form)
    if (op === 'peek') return this.ask('peek', request)
    if (this.byClock && form.rule !== undefined && form.key !== undefined) {
      return this.ask('allowRule', request.rule, request.key, request.cost)
    }
    return this.ask('allow', request)
  }

  async allow(step, i) {
    const form = { ...this.vector.defaults?.request, ...step.request }
    const result = await this.outcome(() => this.decide(step.op, form))
    this.decided[i] = { form, decision: result }
    const alone = step.expect?.status !== undefined && step.expect.status !== 'RL_OK'
    this.compare(alone ? step.expect : { ...this.vector.defaults?.expect, ...step.expect }, this.answer(result))
  }

  peek(step, i) {
    return this.allow(step, i)
  }

  async many(step) {
    const results = await this.ask(
      'allowMany',
      step.requests.map((form) => this.request(form))
    )
    assert.equal(results.length, step.expect.length)
    for (const [i, expected] of step.expect.entries()) this.compare(expected, this.answer(results[i]))
  }

  async repeat(step) {
    let count = 0
    for (let n = 0; n < step.times; n++) {
      const decision = await this.ask('allow', this.request(step.request))
      if (decision.allowed) count++
      this.now += BigInt(step.every)
    }
    this.compare(step.expect, { allowed_count: count })
  }

  async settle(step) {
    const { form, decision } = this.decided[step.of]
    this.compare(
      step.expect,
      this.answer(await this.outcome(() => this.ask('settle', this.request(form), decision, step.actual)))
    )
  }

  async reset(step) {
    const result = await this.outcome(() => this.ask('reset', this.request(step.request)))
    this.compare(step.expect, { status: result?.code ?? 'RL_OK' })
  }

  async reload(step) {
    const result = await this.outcome(() => this.limiter.reload(sourceOf(step)))
    this.compare(step.expect, { status: result?.code ?? 'RL_OK', generation: this.limiter.generation })
  }

  async load(step) {
    const result = await this.outcome(() => new Limiter(sourceOf(step)).close())
    if (result !== undefined) assert.notEqual(result.message, '')
    this.compare(step.expect, { status: result?.code ?? 'RL_OK' })
  }

  headers(step) {
    const flags = (step.forms ?? []).reduce((sum, name) => sum | FORMS[name], 0)
    const lines = this.limiter.headers(this.decided[step.of].decision, flags)
    assert.equal(lines, step.expect.lines.map((line) => `${line}\r\n`).join(''))
  }

  async problem(step) {
    const result = await this.outcome(() => this.limiter.problem(this.decided[step.of].decision))
    if (step.expect.status_name !== 'RL_OK') return assert.equal(result.code, step.expect.status_name)
    const body = JSON.parse(result)
    for (const [name, value] of Object.entries(step.expect.members)) assert.deepEqual(body[name] ?? null, value, name)
  }

  client_ip(step) {
    const ip = this.limiter.clientIp(text(step.peer), texts(step.x_forwarded_for), texts(step.forwarded))
    assert.equal(ip, step.expect.ip)
  }

  // A Redis drops by itself what is as new, and does not count what is ours.
  async evict_idle(step) {
    if (this.kind === 'redis') return
    const cutoff = this.base + BigInt(step.cutoff)
    this.compare(step.expect, { evicted: await this.ask('evictIdle', cutoff) })
  }

  async key_count(step) {
    if (this.kind === 'redis') return
    this.compare(step.expect, { keys: await this.ask('keyCount') })
  }

  async metrics(step) {
    this.compare(step.expect.totals, snake(await this.ask('metrics')))
    for (const [name, expected] of Object.entries(step.expect.rules ?? {})) {
      this.compare(expected, snake(this.limiter.ruleMetrics(this.limiter.ruleId(name))))
    }
  }

  async run() {
    for (const [i, step] of this.vector.steps.entries()) {
      this.now = this.base + BigInt(step.at)
      try {
        await this[step.op](step, i)
      } catch (error) {
        error.message = `${this.vector.name}, step ${i}: ${error.message}`
        throw error
      }
    }
    this.limiter.close()
  }
}

assert.ok(files.length >= 12, `${files.length} files of vectors`)
for (const file of files) {
  const { vectors } = parse(readFileSync(path.join(folder, file), 'utf8'))
  for (const kind of ['embedded', 'host', 'async', 'redis']) {
    for (const clock of ['argument', 'clock']) {
      test(`${file}, ${kind} storage, time by ${clock}`, { skip: kind === 'redis' && noRedis }, async () => {
        assert.ok(vectors.length > 0)
        for (const vector of vectors) await new Replay(vector, kind, clock === 'clock').run()
      })
    }
  }
}
