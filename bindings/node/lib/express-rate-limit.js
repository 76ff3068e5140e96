const { Hits, windowOf, keyOf } = require('./hits.js')

/**
 * A store for express-rate-limit: `rateLimit({store: new RatelStore(), ...})`. The counts lie in Ratel's table (or in
 * its Redis or a storage of your own); what they
 * mean is still express-rate-limit's. Windows are aligned to the clock, not to a key's first hit.
 */
class RatelStore {
  #hits
  #options
  #windowMs = 60_000

  /** `prefix` is put before every key. The rest are options of Limiter: maxKeys, redis, storage, secret, clock, log. */
  constructor({ prefix = '', ...options } = {}) {
    this.prefix = prefix
    this.#options = options
    this.#hits = new Hits(options)
    this.localKeys = this.#hits.local
  }

  init({ windowMs }) {
    this.#windowMs = windowOf(windowMs)
  }

  async get(key) {
    const { hits, resetMs } = await this.#hits.look(this.#windowMs, this.prefix + keyOf(key))
    return hits > 0 ? { totalHits: hits, resetTime: new Date(resetMs) } : undefined
  }

  async increment(key) {
    const { hits, resetMs } = await this.#hits.add(this.#windowMs, this.prefix + keyOf(key))
    return { totalHits: hits, resetTime: new Date(resetMs) }
  }

  async decrement(key) {
    await this.#hits.takeBack(this.#windowMs, this.prefix + keyOf(key))
  }

  async resetKey(key) {
    await this.#hits.forget(this.#windowMs, this.prefix + keyOf(key))
  }

  /** For counts that lie in this process. */
  async resetAll() {
    if (!this.localKeys) throw new Error('RatelStore: the counts lie elsewhere, where others use them too')
    this.#hits.close()
    this.#hits = new Hits(this.#options)
  }

  shutdown() {
    this.#hits.close()
  }
}

module.exports = { RatelStore }
module.exports.default = RatelStore
