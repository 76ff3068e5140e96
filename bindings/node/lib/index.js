const native = require('./native.js')
const { Limiter } = require('./limiter.js')
const { Decision, statusOf } = require('./decision.js')
const { RatelError } = require('./errors.js')
const { version } = require('../package.json')

/** Which header fields; at most one of the drafts. 0 is what the rule set says. See docs/headers.md. */
const Headers = Object.freeze({
  X: 1,
  RESET_DELTA: 2,
  RETRY_AFTER: 4,
  DRAFT_11: 8,
  DRAFT_8: 16,
  DRAFT_7: 32,
  DRAFT_6: 64,
  NONE: 128
})

const FEATURES = { memory: 1, hostStorage: 2, redis: 4, tls: 8 }

/** The engine that was loaded. */
function engine() {
  const { version: text, abi, features } = native.about()
  return {
    version: text,
    abi: `${abi >>> 16}.${abi & 0xffff}`,
    features: Object.keys(FEATURES).filter((name) => (features & FEATURES[name]) !== 0)
  }
}

module.exports = { Limiter, Decision, RatelError, Headers, statusOf, version, engine }
