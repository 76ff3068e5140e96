// Decisions per key, side by side in one process and in memory. README.md says how to read it.

const { Limiter } = require('ratel')
const { RateLimiterMemory } = require('rate-limiter-flexible')
const { MemoryStore } = require('express-rate-limit')
const { RateLimiter } = require('limiter')
const { printMachine, median } = require('./machine.js')

const HOUR = 3_600_000
const PLENTY = 2 ** 31 - 1
const BATCH = 64
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const CALLS = Number(process.env.CALLS ?? 200_000)

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
  'ratel isAllowed token_bucket': ratel('token_bucket', askIsAllowed),
  'ratel allow token_bucket': ratel('token_bucket', askAllow),
  'ratel allow sliding_counter': ratel('sliding_counter', askAllow),
  'ratel allowRule token_bucket': ratel('token_bucket', askRule),
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

const now = () => Number(process.hrtime.bigint())

function serially({ one }, keys) {
  let passed = 0
  for (let i = 0, at = 0; i < CALLS; i++) {
    if (one(keys[at])) passed++
    if (++at === keys.length) at = 0
  }
  return passed
}

async function awaiting({ one }, keys) {
  let passed = 0
  for (let i = 0, at = 0; i < CALLS; i++) {
    if (await one(keys[at])) passed++
    if (++at === keys.length) at = 0
  }
  return passed
}

async function batched({ many }, keys) {
  let passed = 0
  for (let i = 0, at = 0; i < CALLS; i += BATCH) {
    const chosen = []
    for (let n = 0; n < BATCH; n++) {
      chosen.push(keys[at])
      if (++at === keys.length) at = 0
    }
    passed += await many(chosen)
  }
  return passed
}

/** Nanoseconds per decision: the median of rounds, after each key was asked once. `allowed` says what each answer has to be. */
async function measure(make, keys, limit, allowed, run) {
  const candidate = make(limit)
  const asked = run ?? (candidate.later ? awaiting : serially)
  if (run === batched && !candidate.many) return undefined
  for (const key of keys) await candidate.one(key)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const begin = now()
    const passed = await asked(candidate, keys)
    rounds.push((now() - begin) / CALLS)
    if (allowed !== passed > 0 || (allowed && passed < CALLS)) throw new Error(`${passed} of ${CALLS} passed`)
  }
  candidate.end?.()
  return median(rounds)
}

async function table(title, keys, limit, allowed, run) {
  console.log(title)
  for (const [name, make] of Object.entries(candidates)) {
    const ns = await measure(make, keys, limit, allowed, run)
    if (ns !== undefined) console.log(`  ${name.padEnd(32)} ${ns.toFixed(0).padStart(8)} ns`)
    globalThis.gc?.()
  }
}

async function main() {
  printMachine()
  for (const count of [1, 100_000, 1_000_000]) {
    const keys = keysOf(count)
    await table(`${count} keys, allowed`, keys, PLENTY, true)
    await table(`${count} keys, allowed, batches of ${BATCH}`, keys, PLENTY, true, batched)
  }
  const keys = keysOf(1000)
  await table('1000 keys, denied', keys, 1, false)
  await table(`1000 keys, denied, batches of ${BATCH}`, keys, 1, false, batched)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
