const SOURCES = ['exact', 'leased', 'cached_denial', 'local_fallback', 'fail_open', 'fail_closed', 'no_rule', 'action']
const REASONS = ['none', 'limited', 'never_fits', 'blocked', 'store']
const SHADOW_DENIED = 1
const PEEKED = 2

/**
 * The answer. From `limit` on it describes the binding limit, and is 0 when no limit was asked. Times are whole
 * microseconds, the
 * engine's step, and exact; the getters that end in Ms are for timers and dates.
 */
class Decision {
  constructor(bits, rule, limitId, limitCount, numbers, at) {
    this.allowed = (bits & 1) === 1
    this.source = SOURCES[(bits >>> 8) & 255]
    this.reason = REASONS[(bits >>> 16) & 255]
    this.shadowDenied = ((bits >>> 24) & SHADOW_DENIED) !== 0
    this.peeked = ((bits >>> 24) & PEEKED) !== 0
    this.rule = rule
    this.limitId = limitId
    this.limitCount = limitCount
    this.generation = numbers[at]
    this.cost = numbers[at + 1]
    this.limit = numbers[at + 2]
    this.capacity = numbers[at + 3]
    this.remaining = numbers[at + 4]
    this.timeUs = numbers[at + 5]
    this.windowUs = numbers[at + 6]
    this.retryAfterUs = numbers[at + 7]
    this.resetAfterUs = numbers[at + 8]
    this.delayUs = numbers[at + 9]
  }

  get timeMs() {
    return this.timeUs / 1000
  }

  get windowMs() {
    return this.windowUs / 1000
  }

  /** Whole milliseconds, rounded up, so that a timer does not come too early; Infinity: waiting does not help. */
  get retryAfterMs() {
    return Math.ceil(this.retryAfterUs / 1000)
  }

  get resetAfterMs() {
    return Math.ceil(this.resetAfterUs / 1000)
  }

  get delayMs() {
    return Math.ceil(this.delayUs / 1000)
  }
}

/** `bits` as the engine has them. */
function bitsOf(decision) {
  const flags = (decision.shadowDenied ? SHADOW_DENIED : 0) | (decision.peeked ? PEEKED : 0)
  const source = SOURCES.indexOf(decision.source) & 255
  const reason = REASONS.indexOf(decision.reason) & 255
  return ((decision.allowed ? 1 : 0) | (source << 8) | (reason << 16) | (flags << 24)) >>> 0
}

/** The status that a denial is answered with, as docs/headers.md says. */
function statusOf(decision) {
  if (decision.reason === 'blocked') return 403
  return decision.reason === 'store' ? 503 : 429
}

module.exports = { Decision, bitsOf, statusOf }
