const { Hits } = require('./hits.js')
const { unsupported } = require('./errors.js')

/**
 * A store for @fastify/rate-limit with options of Limiter (maxKeys, redis, storage, secret, clock, log):
 * `app.register(rateLimit, {store: ratelStore({maxKeys: 100000}), ...})`; without options `{store: RatelStore}`.
 */
function ratelStore(options = {}) {
  return class RatelStore {
    #hits = new Hits(options)

    constructor({ continueExceeding, exponentialBackoff } = {}) {
      if (continueExceeding)
        throw unsupported('continueExceeding: a denied request does not lengthen a window of Ratel')
      if (exponentialBackoff)
        throw unsupported('exponentialBackoff: a denied request does not lengthen a window of Ratel')
    }

    incr(key, callback, timeWindow) {
      if (timeWindow === 0) return callback(null, { current: 1, ttl: 0 })
      settle(this.#hits.add(timeWindow, key), callback)
    }

    /** As incr, but nothing is counted. */
    read(key, callback, timeWindow) {
      if (timeWindow === 0) return callback(null, { current: 0, ttl: 0 })
      settle(this.#hits.look(timeWindow, key), callback)
    }

    /** Routes with limits of their own count apart. */
    child(routeOptions) {
      return new this.constructor(routeOptions)
    }

    close() {
      this.#hits.close()
    }
  }
}

function settle(counted, callback) {
  counted.then(
    ({ hits, afterMs }) => callback(null, { current: hits, ttl: hits > 0 ? afterMs : 0 }),
    (error) => callback(error)
  )
}

module.exports = { RatelStore: ratelStore(), ratelStore }
module.exports.default = module.exports.RatelStore
