// Decisions per key, side by side in one process and in memory. README.md says how to read it.

const { Limiter } = require('ratel')
const { RateLimiterMemory } = require('rate-limiter-flexible')
const { MemoryStore } = require('express-rate-limit')
const { RateLimiter } = require('limiter')
const { used } = require('./report.js')

const HOUR = 3_600_000
const PLENTY = 2 ** 31 - 1
const BATCH = 64
const COUNTS = [1, 1000, 100_000, 1_000_000]
const DENIED = 1000
const WARM = 300e6 // nanoseconds: what is still being compiled is not measured

const rulesOf = (limit, algorithm) => ({
  version: 1,
  max_keys: 2_000_000,
  default: { name: 'd', scope: 'user', algorithm, limit, window: '1h' }
})

/** `one` asks for a unit of a key, `many` for one each; both tell whether it was let through (many: how often). */
function ratel(algorithm, ask) {
  return (limit) => {
    const limiter = new Limiter({ rules: rulesOf(limit, algorithm) })
    return { ...ask(limiter), end: () => limiter.close() }
  }
}

const request = (user) => ({ method: 'GET', path: '/', user })

const askAllow = (limiter) => ({
  one: (key) => limiter.allow(request(key)).allowed,
  many: (keys) => limiter.allowMany(keys.map(request)).reduce((sum, one) => sum + (one.allowed ? 1 : 0), 0)
})
const askIsAllowed = (limiter) => ({ one: (key) => limiter.isAllowed(request(key)) })
const askRule = (limiter) => {
  const rule = limiter.ruleId('d')
  return { one: (key) => limiter.allowRule(rule, key, 1).allowed }
}

function flexible(limit) {
  const limiter = new RateLimiterMemory({ points: limit, duration: 3600 })
  const one = async (key) => {
    try {
      await limiter.consume(key)
      return true
    } catch {
      return false
    }
  }
  return { one, many: async (keys) => (await Promise.all(keys.map(one))).filter(Boolean).length, later: true }
}

function expressStore(limit) {
  const store = new MemoryStore()
  store.init({ windowMs: HOUR })
  const one = async (key) => (await store.increment(key)).totalHits <= limit
  return {
    one,
    many: async (keys) => (await Promise.all(keys.map(one))).filter(Boolean).length,
    later: true,
    end: () => store.shutdown()
  }
}

function limiterMap(limit) {
  const limiters = new Map()
  return {
    one: (key) => {
      let limiter = limiters.get(key)
      if (limiter === undefined) {
        limiter = new RateLimiter({ tokensPerInterval: limit, interval: HOUR })
        limiters.set(key, limiter)
      }
      return limiter.tryRemoveTokens(1)
    }
  }
}

const candidates = {
  'ratel isAllowed': ratel('token_bucket', askIsAllowed),
  'ratel allow': ratel('token_bucket', askAllow),
  'ratel allow, sliding_counter': ratel('sliding_counter', askAllow),
  'ratel allowRule': ratel('token_bucket', askRule),
  'rate-limiter-flexible memory': flexible,
  'express-rate-limit MemoryStore': expressStore,
  'limiter in a Map': limiterMap
}

/** Made before the clock runs, and asked in an order that no cache knows. */
function keysOf(count) {
  const keys = Array.from({ length: count }, (_, i) => `user-${String(i).padStart(9, '0')}`)
  let seed = 1
  for (let i = count - 1; i > 0; i--) {
    seed = (seed * 48271) % 2147483647
    const j = seed % (i + 1)
    ;[keys[i], keys[j]] = [keys[j], keys[i]]
  }
  return keys
}

/**
 * A turn: so many decisions on the keys from a place on. It is compiled anew for each candidate, as a program that has
 * one of them would have it.
 */
const turns = {
  serially: () =>
    new Function(
      'one, keys, place, calls',
      `let passed = 0, at = place.at
      for (let i = 0; i < calls; i++) {
        if (one(keys[at])) passed++
        if (++at === keys.length) at = 0
      }
      place.at = at
      return passed`
    ),
  awaiting: () =>
    new Function(
      `return async (one, keys, place, calls) => {
      let passed = 0, at = place.at
      for (let i = 0; i < calls; i++) {
        if (await one(keys[at])) passed++
        if (++at === keys.length) at = 0
      }
      place.at = at
      return passed
    }`
    )(),
  batched: () =>
    new Function(
      `return async (many, keys, place, calls) => {
      let passed = 0, at = place.at
      for (let i = 0; i < calls; i += ${BATCH}) {
        const chosen = []
        for (let n = 0; n < ${BATCH}; n++) {
          chosen.push(keys[at])
          if (++at === keys.length) at = 0
        }
        const got = many(chosen)
        passed += typeof got === 'number' ? got : await got
      }
      place.at = at
      return passed
    }`
    )()
}

/** One of the candidates, warm: `turn` tells the nanoseconds of each decision. */
async function runnerOf(row, make, keys, { limit, batch, block }) {
  const candidate = make(limit)
  for (const key of keys) await candidate.one(key)
  let kind = 'serially'
  if (batch) kind = 'batched'
  else if (candidate.later) kind = 'awaiting'
  const run = turns[kind]()
  const place = { at: 0 }
  const ask = batch ? candidate.many : candidate.one
  const expected = (calls) => (limit === PLENTY ? calls : 0)
  let calls = BATCH * 8
  const turn = async () => {
    const begin = used()
    let passed = run(ask, keys, place, calls)
    if (typeof passed !== 'number') passed = await passed
    const ns = used() - begin
    if (passed !== expected(calls)) throw new Error(`${row.name}: ${passed} of ${calls} passed`)
    return ns / calls
  }
  const until = used() + WARM
  while (used() < until) await turn()
  calls = Math.ceil((block * 1e6) / (await turn()) / BATCH) * BATCH
  return { row, turn, end: () => candidate.end?.() }
}

/** Each takes its turn, round after round. Garbage is collected between rounds. */
async function section(report, { section, count, only, rounds, ...more }) {
  const keys = keysOf(count)
  const runners = []
  for (const [name, make] of Object.entries(candidates)) {
    if (only && !only.test(name)) continue
    if (more.batch && make(1).many === undefined) continue
    runners.push(await runnerOf(report.row(section, name, count), make, keys, more))
  }
  for (let round = 0; round < rounds; round++) {
    globalThis.gc?.()
    for (const { row, turn } of runners) row.ns.push(await turn())
  }
  for (const { end } of runners) end()
  report.print(section, count)
}

async function decide(report, options) {
  for (const count of COUNTS.filter((number) => number <= options.keys)) {
    await section(report, { ...options, section: 'allowed', count, limit: PLENTY })
    await section(report, { ...options, section: `batch of ${BATCH}`, count, limit: PLENTY, batch: true })
  }
  await section(report, { ...options, section: 'denied', count: DENIED, limit: 1 })
  await section(report, { ...options, section: `denied, batch of ${BATCH}`, count: DENIED, limit: 1, batch: true })
}

module.exports = { decide }
