/** A storage as a host might write it; `nowUs` dates its entries. */
class MapStorage {
  constructor(nowUs) {
    this.nowUs = nowUs
    this.held = new Map()
  }

  apply(op) {
    for (const cell of op.cells) cell.state = this.held.get(cell.key)?.state
    op.step()
    for (const cell of op.cells) {
      if (!cell.write) continue
      if (cell.newState === undefined) this.held.delete(cell.key)
      else this.held.set(cell.key, { state: cell.newState, expires: this.nowUs() + cell.ttlUs })
    }
  }

  forget(key) {
    this.held.delete(key)
  }

  sweep(cutoffUs) {
    let dropped = 0
    for (const [key, { expires }] of this.held) {
      if (expires > cutoffUs) continue
      this.held.delete(key)
      dropped++
    }
    return dropped
  }

  count() {
    return this.held.size
  }
}

/**
 * The same where every answer takes a turn of the event loop. One operation after the other, as a database would see
 * to.
 */
class SlowStorage {
  constructor(nowUs) {
    this.inner = new MapStorage(nowUs)
    this.last = Promise.resolve()
  }

  #later(duty) {
    const result = this.last.then(() => new Promise((resolve) => setImmediate(resolve))).then(duty)
    this.last = result.catch(() => {})
    return result
  }

  applyAsync(op) {
    return this.#later(() => this.inner.apply(op))
  }

  forget(key) {
    return this.#later(() => this.inner.forget(key))
  }

  sweep(cutoffUs) {
    return this.#later(() => this.inner.sweep(cutoffUs))
  }

  count() {
    return this.#later(() => this.inner.count())
  }
}

module.exports = { MapStorage, SlowStorage }
