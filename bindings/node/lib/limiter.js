const native = require('./native.js')
const frame = require('./frame.js')
const { fieldsOf, fieldsTold } = require('./fields.js')
const { addTicket, dropTicket } = require('./host.js')
const { create, withRules, bytesOf, SOURCE } = require('./config.js')
const { fromEngine, failure, configFailure, invalid, cancelled, closed, unsupported } = require('./errors.js')
const { shown } = require('./names.js')

// Constants: looking one up among all that the add-on has takes as long as a third of the way into C.
const { allow: nativeAllow, allowRule: nativeAllowRule, allowHttp: nativeAllowHttp, callNow: nativeCallNow } = native

// In the order of src/env.h.
const MANY = 0
const PEEK = 1
const SETTLE = 2
const RESET = 3
const EXPLAIN = 4
const HEADERS = 5
const PROBLEM = 6
const CLIENT_IP = 7
const DIFF = 8
const METRICS = 9
const RULE_METRICS = 10
const PROMETHEUS = 11
const KEY_COUNT = 12
const EVICT_IDLE = 13

const NO_FIELDS = []
const JSON_TEXT = 1
const FORMATS = { text: 0, json: JSON_TEXT }
const LARGEST_INTERVAL = 2 ** 32 - 1

const COUNTERS = [
  'requests',
  'allowed',
  'denied',
  'neverFits',
  'blocked',
  'shadowDenied',
  'noRule',
  'localFallback',
  'failOpen',
  'failClosed',
  'storeErrors',
  'unknownClient',
  'evictedLive',
  'evictedIdle',
  'keys',
  'reloads',
  'reloadFailures',
  'generation',
  'leased',
  'cachedDenial',
  'reportedBack',
  'unreported'
]
const RULE_COUNTERS = ['allowed', 'denied', 'neverFits', 'shadowDenied', 'costAllowed']

const counters = (names) => Object.fromEntries(names.map((name, i) => [name, frame.counter(i)]))

function formatOf(format) {
  const flags = FORMATS[format ?? 'text']
  if (flags === undefined) throw invalid(`format is ${shown(format)}: it has to be text or json`)
  return flags
}

function textFrom(value, name) {
  if (typeof value !== 'string' && !(value instanceof Uint8Array))
    throw invalid(`${name} is ${shown(value)}: it has to be a string`)
  return value
}

function linesFrom(lines, name) {
  if (lines === undefined) return []
  if (!Array.isArray(lines)) throw invalid(`${name} is ${shown(lines)}: it has to be a list of lines`)
  return lines.map((line, i) => textFrom(line, `${name}[${i}]`))
}

const orphans = new FinalizationRegistry((id) => native.close(id))

/** A rule set in force, with its storage. End it with close(); one that is no longer reachable ends by itself. */
function checkInterval(intervalMs) {
  if (Number.isInteger(intervalMs) && intervalMs >= 0 && intervalMs <= LARGEST_INTERVAL) return
  throw invalid(`intervalMs is ${shown(intervalMs)}: it has to be a whole number of milliseconds`)
}

class Limiter {
  #id
  #host
  #sync // answers at once
  #later // may have to wait
  #asked = new Map() // what rejects each answer that is awaited, by ticket
  #turn = -1

  constructor(options) {
    const { id, host } = create(options)
    this.#id = id
    this.#host = host
    const { storage, redis } = options
    this.#sync = redis === undefined && (storage === undefined || storage.apply !== undefined)
    this.#later = redis !== undefined || storage?.applyAsync !== undefined
    orphans.register(this, id, this)
  }

  /** The whole question: find the rule, decide, and spend when allowed. For storages that answer at once. */
  allow(request) {
    this.#ask(request)
    return frame.decision(0)
  }

  /** allow, of which only the answer is wanted: no object is made. lastDecision() has the rest. */
  isAllowed(request) {
    this.#ask(request)
    this.#turn = frame.turnNow()
    return frame.allowed()
  }

  /** The decision of the isAllowed that has just returned; anything asked in between is in the way. */
  lastDecision() {
    if (this.#turn !== frame.turnNow()) throw invalid('lastDecision: something else was asked since isAllowed')
    return frame.decision(0)
  }

  #ask(request) {
    if (!this.#sync) throw this.#waits('allow')
    frame.one(this.#id, request)
    this.#forget()
    nativeAllow()
    if (frame.status() !== 0) throw this.#failure()
  }

  #waits(name) {
    if (this.#id === 0) return closed()
    return unsupported(`${name}: this storage does not answer at once, use ${name}Async`)
  }

  /** What callbacks failed with before is not the cause of what fails now. */
  #forget() {
    if (this.#host !== undefined) this.#host.thrown = undefined
  }

  #failure() {
    return this.#caused(failure())
  }

  #caused(error) {
    const thrown = this.#host?.thrown
    if (thrown !== undefined && thrown.code === error.code) error.cause = thrown.error
    return error
  }

  /**
   * The short form for a rule that is known: `key` stands in for the value of every scope but global; for a rule that
   * has no other it is ''.
   */
  allowRule(rule, key, cost) {
    if (!this.#sync) throw this.#waits('allowRule')
    const ruleId = ruleFrom(rule)
    keyFrom(key)
    const spent = frame.units(cost, 'cost')
    frame.byRule(this.#id, ruleId, spent, key)
    this.#forget()
    nativeAllowRule()
    if (frame.status() !== 0) throw this.#failure()
    return frame.decision(0)
  }

  /** allow for every storage. */
  async allowAsync(request) {
    if (!this.#later) return this.allow(request)
    frame.one(this.#id, request)
    return this.#await(
      () => native.allowAsync(),
      () => frame.decision(0)
    )
  }

  /** allowRule for every storage. */
  async allowRuleAsync(rule, key, cost) {
    if (!this.#later) return this.allowRule(rule, key, cost)
    return this.allowAsync({ rule: ruleFrom(rule), key: keyFrom(key), cost })
  }

  /** A promise of what `read` finds in the frame once the answer is there. */
  #await(start, read) {
    return new Promise((resolve, reject) => {
      const ticket = addTicket((error, text) => {
        this.#asked.delete(ticket)
        if (error === undefined) resolve(read(text))
        else reject(this.#caused(error))
      })
      this.#asked.set(ticket, reject)
      frame.ticket(ticket)
      this.#forget()
      start()
      if (frame.status() !== 0) {
        this.#asked.delete(ticket)
        dropTicket(ticket)
        reject(this.#failure())
      }
    })
  }

  /** A call that is made now; see src/call.c. */
  #now(kind, read) {
    this.#forget()
    const text = nativeCallNow(kind)
    if (frame.status() !== 0) throw this.#failure()
    return read(text)
  }

  /** `prepare` writes the frame; then the call is made, now or on a thread of its own. */
  #call(name, kind, prepare, read) {
    if (!this.#sync) throw this.#waits(name)
    prepare(this.#id)
    return this.#now(kind, read)
  }

  async #callAsync(kind, prepare, read) {
    prepare(this.#id)
    if (!this.#later) return this.#now(kind, read)
    return this.#await(() => native.callLater(kind), read)
  }

  /**
   * Many questions at one instant, answered in order: a Decision each, or the RatelError of a request that was
   * refused.
   */
  allowMany(requests) {
    const count = countOf(requests)
    return this.#call(
      'allowMany',
      MANY,
      (id) => frame.many(id, requests),
      (refused) => answers(count, refused)
    )
  }

  async allowManyAsync(requests) {
    const count = countOf(requests)
    return this.#callAsync(
      MANY,
      (id) => frame.many(id, requests),
      (refused) => answers(count, refused)
    )
  }

  /** What allow would answer now; nothing is spent. */
  peek(request) {
    return this.#call(
      'peek',
      PEEK,
      (id) => frame.one(id, request),
      () => frame.decision(0)
    )
  }

  async peekAsync(request) {
    return this.#callAsync(
      PEEK,
      (id) => frame.one(id, request),
      () => frame.decision(0)
    )
  }

  /**
   * After the work: `actual` units (0 or more) in place of those that `decision` spent. `request` as it was given to
   * allow.
   */
  settle(request, decision, actual) {
    return this.#call(
      'settle',
      SETTLE,
      (id) => prepareSettle(id, request, decision, actual),
      () => frame.decision(0)
    )
  }

  async settleAsync(request, decision, actual) {
    return this.#callAsync(
      SETTLE,
      (id) => prepareSettle(id, request, decision, actual),
      () => frame.decision(0)
    )
  }

  /** Forgets the state of every key that the request reaches. */
  reset(request) {
    this.#call('reset', RESET, (id) => frame.one(id, request), nothing)
  }

  async resetAsync(request) {
    return this.#callAsync(RESET, (id) => frame.one(id, request), nothing)
  }

  /** Why the answer is what it is, as lines of text or as JSON. Nothing is spent. */
  explain(request, format) {
    return this.#call('explain', EXPLAIN, (id) => prepareExplain(id, request, format), itself)
  }

  async explainAsync(request, format) {
    return this.#callAsync(EXPLAIN, (id) => prepareExplain(id, request, format), itself)
  }

  /** The header fields of a decision as lines "Name: value\r\n". */
  headers(decision, flags = 0) {
    return this.#tell(HEADERS, () => {
      frame.earlier(decision)
      frame.flags(frame.word(flags, 'flags', 'of Headers, joined by |'))
    })
  }

  /** An RFC 9457 body (application/problem+json) for a denial. */
  problem(decision) {
    return this.#tell(PROBLEM, () => frame.earlier(decision))
  }

  /** The client behind trusted proxies: `peer` is the connection's address, the lists are all lines of the fields. */
  clientIp(peer, xForwardedFor, forwarded) {
    const lines = [textFrom(peer, 'peer'), linesFrom(xForwardedFor, 'xForwardedFor'), linesFrom(forwarded, 'forwarded')]
    return this.#tell(CLIENT_IP, () => frame.origin(...lines))
  }

  /** What a reload with these rules would change. */
  diff(source, format) {
    const flags = formatOf(format)
    return withRules(source, SOURCE, () => this.#tell(DIFF, () => frame.flags(flags)))
  }

  /** What is answered from what this process knows, whatever the storage. */
  #tell(kind, prepare) {
    frame.begin(this.#id, 0)
    prepare()
    return this.#now(kind, itself)
  }

  /** One crossing for a middleware: see lib/http.js. Returns names and values of the header fields. */
  _allowHttp(request, peer, xForwardedFor, forwarded, flags) {
    frame.own(this.#id, request)
    frame.flags(flags)
    frame.origin(peer, xForwardedFor, forwarded)
    this.#forget()
    const text = nativeAllowHttp()
    if (frame.status() !== 0) throw this.#failure()
    if (text !== undefined) return fieldsTold(text)
    return frame.told() > 0 ? fieldsOf(this.headers(frame.decision(0), flags)) : NO_FIELDS
  }

  get _answersAtOnce() {
    return this.#sync
  }

  /** Counters since the limiter was made. */
  metrics() {
    frame.begin(this.#id, 0)
    return this.#now(METRICS, () => counters(COUNTERS))
  }

  async metricsAsync() {
    return this.#callAsync(METRICS, noRequest, () => counters(COUNTERS))
  }

  /** Counters of one rule, by its id. */
  ruleMetrics(rule) {
    const ruleId = ruleFrom(rule)
    frame.begin(this.#id, 0)
    frame.flags(ruleId)
    return this.#now(RULE_METRICS, () => ({ rule: ruleId, ...counters(RULE_COUNTERS) }))
  }

  /** All metrics in Prometheus' text format 0.0.4. */
  prometheus() {
    return this.#tell(PROMETHEUS, nothing)
  }

  async prometheusAsync() {
    return this.#callAsync(PROMETHEUS, noRequest, itself)
  }

  /** How many keys the storage holds. */
  keyCount() {
    return this.#call('keyCount', KEY_COUNT, noRequest, frame.told)
  }

  async keyCountAsync() {
    return this.#callAsync(KEY_COUNT, noRequest, frame.told)
  }

  /**
   * Drops every key whose state has been as new since `cutoff` (milliseconds since 1970; now when left out), and says
   * how many.
   */
  evictIdle(cutoff) {
    const us = frame.instant(cutoff, 'cutoff')
    return this.#call('evictIdle', EVICT_IDLE, (id) => prepareCutoff(id, us), frame.told)
  }

  async evictIdleAsync(cutoff) {
    const us = frame.instant(cutoff, 'cutoff')
    return this.#callAsync(EVICT_IDLE, (id) => prepareCutoff(id, us), frame.told)
  }

  #simple(call) {
    frame.begin(this.#id, 0)
    this.#forget()
    const told = call()
    if (frame.status() !== 0) throw this.#failure()
    return told
  }

  /** The ids of the rules in force, in the order in which they were loaded. */
  rules() {
    return this.#simple(() => native.rules())
  }

  /** The id of a rule in force by its name. */
  ruleId(name) {
    const bytes = bytesOf(name, 'name')
    return this.#simple(() => native.ruleId(bytes))
  }

  /** The name of a rule, also of one that is no longer in force. Empty when unknown. */
  ruleName(rule) {
    const ruleId = ruleFrom(rule)
    return this.#simple(() => native.ruleName(ruleId))
  }

  limitName(limit) {
    const limitId = frame.word(limit, 'limit', 'an id, see limitId of a Decision')
    return this.#simple(() => native.limitName(limitId))
  }

  /** The number of the rule set in force: 1 at first, one more with each reload. */
  get generation() {
    return this.#simple(() => native.generation())
  }

  /** Replaces the rules as a whole or, when they have faults, not at all. State survives. */
  reload(source) {
    withRules(source, SOURCE, () => {
      frame.begin(this.#id, 0)
      native.reload()
      if (frame.status() !== 0) throw configFailure()
    })
  }

  /** Reads a file or folder now, as watch does: a bad one keeps the old rules, is logged and counted. */
  reloadFile(path) {
    const bytes = bytesOf(path, 'path')
    this.#simple(() => native.reloadFile(bytes))
  }

  /** Looks at a file or folder every so often (0: each second) and reloads it when it has changed. One at a time. */
  watch(path, intervalMs = 0) {
    const bytes = bytesOf(path, 'path')
    checkInterval(intervalMs)
    this.#simple(() => native.watch(bytes, intervalMs))
  }

  /**
   * The same for a key that holds the text of a rule file, in a Redis by its URL. It is read before this returns, which
   * may take a second; a server that does not answer is no error, it is asked again.
   */
  watchRedis(url, key, intervalMs = 0) {
    const [from, name] = [bytesOf(url, 'url'), bytesOf(key, 'key')]
    checkInterval(intervalMs)
    this.#simple(() => native.watchRedis(from, name, intervalMs))
  }

  unwatch() {
    this.watch('')
  }

  get closed() {
    return this.#id === 0
  }

  /**
   * Ends the limiter. A call that is being made is still answered; promises that wait for an answer are rejected with
   * RL_E_CANCELLED, and what their questions spend stays spent. Later calls fail with RL_E_STATE. Closing again does
   * nothing.
   */
  close() {
    if (this.#id === 0) return
    const id = this.#id
    this.#id = 0
    orphans.unregister(this)
    for (const [ticket, reject] of this.#asked) {
      dropTicket(ticket)
      reject(cancelled())
    }
    this.#asked.clear()
    native.close(id)
    this.#host?.abandon()
  }
}
if (Symbol.dispose) {
  Object.defineProperty(Limiter.prototype, Symbol.dispose, {
    value() {
      this.close()
    },
    writable: true,
    configurable: true
  })
}

const nothing = () => undefined
const noRequest = (id) => frame.begin(id, 0)
const itself = (text) => text ?? ''

const ruleFrom = (rule) => frame.word(rule, 'rule', 'an id, see ruleId')

/** Without a key all would share one budget, which is seldom meant. */
function keyFrom(key) {
  if (key === undefined || key === null) throw invalid(`key is ${key}: a rule of scope global takes '', others a value`)
  return key
}

function countOf(requests) {
  if (!Array.isArray(requests)) throw invalid(`allowMany takes a list of requests, not ${shown(requests)}`)
  return requests.length
}

/** `refused` has why those have no answer that were refused; undefined: none was. */
function answers(count, refused) {
  const out = new Array(count)
  for (let i = 0; i < count; i++) {
    out[i] = frame.statusAt(i) === 0 ? frame.decision(i) : fromEngine(refused[i])
  }
  return out
}

function prepareSettle(id, request, decision, actual) {
  const spent = frame.units(actual, 'actual')
  if (typeof spent !== 'number' || Number.isNaN(spent)) {
    throw invalid(`actual is ${shown(actual)}: it has to be a whole number of units, below 2^53`)
  }
  frame.one(id, request)
  frame.earlier(decision)
  frame.number(spent)
}

function prepareCutoff(id, us) {
  frame.begin(id, 0)
  frame.number(us)
}

function prepareExplain(id, request, format) {
  const flags = formatOf(format)
  frame.one(id, request)
  frame.flags(flags)
}

module.exports = { Limiter }
