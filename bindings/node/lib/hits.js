// Counting hits for rate limiters that decide by themselves: a fixed window whose limit is out of reach, so that what
// is spent is the count.

const { Limiter } = require('./limiter.js')
const { Decision } = require('./decision.js')
const { invalid } = require('./errors.js')
const { shown, noName } = require('./names.js')

const OUT_OF_REACH = 2 ** 31 - 1
const MOST_WINDOWS = 100
const OPTIONS = ['maxKeys', 'redis', 'storage', 'secret', 'clock', 'log']

const rule = (windowMs) => ({
  name: `hits-${windowMs}`,
  path: `/${windowMs}`,
  scope: 'user',
  algorithm: 'fixed_window',
  limit: OUT_OF_REACH,
  window: `${windowMs}ms`
})

/** The hits of keys, by the length of their window. */
class Hits {
  #limiter
  #rules = new Map() // by window
  #options

  constructor(options) {
    for (const name of Object.keys(options)) {
      if (!OPTIONS.includes(name)) throw invalid(noName('no option', name, OPTIONS))
    }
    this.#options = options
  }

  /** Whether other processes do not see these counts. */
  get local() {
    return this.#options.redis === undefined && this.#options.storage === undefined
  }

  #request(window, key) {
    const windowMs = windowOf(window)
    if (!this.#rules.has(windowMs)) this.#add(windowMs)
    return { rule: this.#rules.get(windowMs), key: keyOf(key) }
  }

  #add(windowMs) {
    if (this.#rules.size >= MOST_WINDOWS) throw invalid(`more than ${MOST_WINDOWS} lengths of windows`)
    const rules = [...this.#rules.keys(), windowMs].map(rule)
    if (this.#limiter === undefined) this.#limiter = new Limiter({ rules, ...this.#options })
    else this.#limiter.reload({ rules })
    this.#rules.set(windowMs, this.#limiter.ruleId(`hits-${windowMs}`))
  }

  async add(windowMs, key) {
    const request = this.#request(windowMs, key)
    return count(await this.#limiter.allowRuleAsync(request.rule, request.key))
  }

  async look(windowMs, key) {
    const request = this.#request(windowMs, key)
    return count(await this.#limiter.peekAsync(request))
  }

  /** Takes one hit of the running window back. */
  async takeBack(windowMs, key) {
    const request = this.#request(windowMs, key)
    const peeked = await this.#limiter.peekAsync(request)
    if (peeked.remaining === peeked.capacity) return
    const hit = Object.assign(Object.create(Decision.prototype), peeked, {
      allowed: true,
      reason: 'none',
      peeked: false
    })
    await this.#limiter.settleAsync(request, hit, 0)
  }

  async forget(windowMs, key) {
    const request = this.#request(windowMs, key)
    await this.#limiter.resetAsync(request)
  }

  close() {
    this.#limiter?.close()
    this.#limiter = undefined
    this.#rules.clear()
  }
}

/** Whole milliseconds of a window; a fraction counts as one more. */
function windowOf(window) {
  const windowMs = Math.ceil(window)
  if (typeof window === 'number' && window >= 1 && Number.isSafeInteger(windowMs)) return windowMs
  throw invalid(`a window of ${shown(window)}: it has to be a number of milliseconds, at least 1`)
}

/** A key that is none would be one budget for all. */
function keyOf(key) {
  if (typeof key === 'string') return key
  if (typeof key === 'number' || typeof key === 'bigint') return String(key)
  throw invalid(`key is ${shown(key)}: whoever makes keys has to make strings`)
}

/** The hits so far, and when they are forgotten: milliseconds from now, and since 1970. */
function count(decision) {
  return {
    hits: decision.capacity - decision.remaining + (decision.allowed ? 0 : 1),
    afterMs: decision.resetAfterMs,
    resetMs: Math.ceil((decision.timeUs + decision.resetAfterUs) / 1000)
  }
}

module.exports = { Hits, windowOf, keyOf }
