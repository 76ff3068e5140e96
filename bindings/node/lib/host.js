// What the engine asks of JavaScript: a clock, a log, a storage; and the answers that come later. Nothing here throws
// into the engine.

const native = require('./native.js')
const frame = require('./frame.js')
const { RatelError, failure, ofStatus, invalid } = require('./errors.js')

const OK = 0
const E_STORE = -7
const LEVELS = ['', 'error', 'warning', 'info']

/** What a limiter was given. `thrown` is what a callback threw during the call that is under way. */
class Host {
  constructor({ clock, log, storage }) {
    this.clock = clock
    this.log = log
    this.storage = storage
    this.thrown = undefined // what a callback failed with during the call that is under way: { code, error }
    this.warned = false
    this.open = new Set() // what ends each duty of the storage that has not ended
  }

  /** The storage may still end what it began, but nobody will hear of it. */
  abandon() {
    this.log = nothing
    for (const end of this.open) end(E_STORE, 0)
  }

  failed(where, error, code = 'RL_E_STORE') {
    this.thrown = { code, error }
    const text = `exception in ${where}: ${String(error?.message ?? error)}`
    if (this.log !== undefined) return tell(this, 'error', text)
    if (this.warned) return
    this.warned = true
    process.emitWarning(`${text} (told once per limiter; the option log has them all)`, 'RatelWarning')
  }
}

const nothing = () => undefined

/** Nobody waits for what a callback promised by mistake. */
function ignore(result) {
  if (typeof result?.then === 'function') Promise.resolve(result).catch(() => {})
}

function tell(host, level, text) {
  try {
    ignore(host.log(level, text))
  } catch {
    // A log that fails has nowhere to tell it.
  }
}

/** One key of an operation. */
class Cell {
  constructor(key) {
    this.key = key // the name of the state
    this.state = undefined // set by the storage: the bytes held under key, undefined for none
    this.write = false // set by step: hold newState from now on
    this.newState = undefined // set by step: the bytes to hold; undefined: nothing any more
    this.ttlUs = 0 // set by step: after so many microseconds the state equals none
  }

  /** Whole milliseconds, rounded up. */
  get ttlMs() {
    return Math.ceil(this.ttlUs / 1000)
  }
}

/** One decision (or settle, or peek) under way. */
class Op {
  #slot
  #count
  #cells

  constructor(slot, keys) {
    this.#slot = slot
    this.#count = keys.length
    this.#cells = keys.map((key) => new Cell(key))
  }

  get cells() {
    return this.#cells
  }

  /** The arithmetic: reads each cell's state, decides, and says in each cell what to write. */
  step() {
    if (this.#slot === 0) throw new RatelError('RL_E_STATE', 'step: the operation is over')
    const states = this.#cells.map((cell) => cell?.state)
    if (states.length !== this.#count) throw invalid('step: cells is not as it was given')
    if (!states.every((state) => state === undefined || state === null || state instanceof Uint8Array)) {
      throw invalid('step: a state is an Uint8Array, or undefined')
    }
    const told = native.step(this.#slot, states)
    if (typeof told === 'number') throw ofStatus(told)
    this.#cells.forEach((cell, i) => {
      cell.write = told[3 * i]
      cell.newState = told[3 * i + 1]
      cell.ttlUs = told[3 * i + 2]
    })
  }

  static end(op) {
    op.#slot = 0
  }
}

const hosts = new Map()
let lastHost = 0

function addHost(host) {
  lastHost = (lastHost + 1) >>> 0
  hosts.set(lastHost, host)
  return lastHost
}

const tickets = new Map()
let lastTicket = 0

/**
 * A ticket for an answer that comes later: `settled(error, text)` is called once, with the answer in the frame unless
 * there is an error.
 */
function addTicket(settled) {
  do lastTicket = (lastTicket + 1) >>> 0
  while (tickets.has(lastTicket))
  tickets.set(lastTicket, settled)
  return lastTicket
}

function dropTicket(ticket) {
  tickets.delete(ticket)
}

function arrived(ticket, error, text) {
  const settled = tickets.get(ticket)
  tickets.delete(ticket)
  frame.arrived()
  settled?.(error, text)
}

const errorOf = (status, told) => (status === 0 ? undefined : told(status))

function now(host) {
  try {
    const time = host.clock()
    ignore(time)
    return frame.clocked(time)
  } catch (error) {
    host.failed('clock', error, 'RL_E_INVALID_ARGUMENT')
    return Number.NaN
  }
}

function apply(host, slot, keys) {
  // What the engine wants to tell at the end it tells a storage that answers at once, or none.
  if (host.storage.apply === undefined) return E_STORE
  const op = new Op(slot, keys)
  try {
    const result = host.storage.apply(op)
    if (typeof result?.then !== 'function') return OK
    ignore(result)
    throw new TypeError('it returned a promise: that is for applyAsync')
  } catch (error) {
    host.failed('storage.apply', error)
    return E_STORE
  } finally {
    Op.end(op)
  }
}

/** What ends a duty that takes its time: it tells the engine, once. */
function opened(host, slot, ended) {
  const finish = (status, number) => {
    if (!host.open.delete(finish)) return
    ended?.()
    native.finish(slot, status, number)
  }
  host.open.add(finish)
  return finish
}

/** Runs a duty that takes its time. After abandon() nobody asks how it went. */
function later(host, where, finish, run, read) {
  new Promise((resolve) => resolve(run())).then(read).then(
    (number) => finish(OK, number),
    (error) => {
      if (host.open.has(finish)) host.failed(where, error)
      finish(E_STORE, 0)
    }
  )
}

function applyLater(host, slot, keys) {
  const op = new Op(slot, keys)
  const { storage } = host
  const finish = opened(host, slot, () => Op.end(op))
  const run = () => (typeof storage.applyAsync === 'function' ? storage.applyAsync(op) : storage.apply(op))
  later(host, 'storage.applyAsync', finish, run, () => 0)
  return OK
}

function countOf(name, result) {
  if (name === 'forget') return 0
  const number = typeof result === 'bigint' ? Number(result) : result
  if (!Number.isSafeInteger(number) || number < 0) throw new TypeError('it has to say how many')
  return number
}

/** One of the small duties. Without a slot the answer is wanted at once. */
function duty(host, slot, name, ...given) {
  const where = `storage.${name}`
  if (slot === 0) {
    try {
      const result = host.storage[name](...given)
      if (typeof result?.then !== 'function') return countOf(name, result)
      ignore(result)
      if (name === 'count') return Number.NaN // metrics do without
      throw new TypeError('it returned a promise: that is for the methods whose names end in Async')
    } catch (error) {
      host.failed(where, error)
      return Number.NaN
    }
  }
  const run = () => host.storage[name](...given)
  later(host, where, opened(host, slot), run, (result) => countOf(name, result))
  return 0
}

// In the order of the kinds of src/env.h.
const answers = [
  (id) => now(hosts.get(id)),
  (id, level, text) => {
    const host = hosts.get(id)
    if (host?.log !== undefined) tell(host, LEVELS[level], text)
  },
  (id, slot, keys) => apply(hosts.get(id), slot, keys),
  (id, slot, keys) => applyLater(hosts.get(id), slot, keys),
  (id, slot, key) => duty(hosts.get(id), slot, 'forget', key),
  (id, slot, cutoffUs) => duty(hosts.get(id), slot, 'sweep', cutoffUs),
  (id, slot) => duty(hosts.get(id), slot, 'count'),
  (ticket) => arrived(ticket, errorOf(frame.statusAt(0), ofStatus)),
  (ticket, records, text) =>
    records > 0 ? frame.hold(records) : arrived(ticket, errorOf(frame.status(), failure), text),
  (id) => hosts.delete(id)
]

native.setDispatch((kind, ...given) => {
  try {
    return answers[kind](...given)
  } catch (error) {
    process.emitWarning(`a fault of this package: ${error?.stack}`, 'RatelWarning')
    return Number.NaN
  }
})

module.exports = { Host, Op, Cell, addHost, addTicket, dropTicket }
