// What the middlewares have in common: the question that an HTTP request is, and what its answer is told. No number is
// computed here.

const frame = require('./frame.js')
const { fieldsOf } = require('./fields.js')
const { Limiter } = require('./limiter.js')
const { statusOf } = require('./decision.js')
const { RatelError, invalid } = require('./errors.js')
const { shown, noName } = require('./names.js')

const HOOKS = ['user', 'apiKey', 'attributes', 'cost', 'skip', 'denied', 'failed']
const OPTIONS = [...HOOKS, 'headers', 'keepDecision', 'ignoreDelay', 'idempotencyHeader']
const IDEMPOTENCY_KEY = 'Idempotency-Key' // draft-ietf-httpapi-idempotency-key-header
const NO_LINES = []
const asked = Symbol('ratel.asked')

/**
 * What was asked and answered for a request that came through a middleware with keepDecision, for example to settle
 * its cost.
 */
const decisionOf = (req) => req?.[asked] ?? req?.raw?.[asked]

const isPromise = (value) => typeof value === 'object' && value !== null && typeof value.then === 'function'

/** Bytes of a field or target, of which node makes a character each. */
function bytesOf(text) {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 127) return Buffer.from(text, 'latin1')
  }
  return text
}

/**
 * Whether node has cut the fields of a request off: it looks at 1000 of them unless the server's maxHeadersCount says
 * otherwise. What a proxy has added stands last, so the rest must not be taken for all.
 */
function isCut(req) {
  const count = req.socket?.server?.maxHeadersCount
  const most = typeof count === 'number' ? 2 * count : 2000
  return most > 0 && req.rawHeaders.length >= most
}

/**
 * All lines of a field, in order. Not by `headers`, which node makes of the raw ones when somebody asks, and as long as
 * a decision takes.
 */
function linesOf(req, name) {
  const raw = req.rawHeaders
  let lines = NO_LINES
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i].length !== name.length || raw[i].toLowerCase() !== name) continue
    if (lines === NO_LINES) lines = []
    lines.push(bytesOf(raw[i + 1]))
  }
  return lines
}

/** The name of the field that ids are taken from, in lower case; undefined for none. */
function idempotencyField(option) {
  if (option === undefined || option === false) return undefined
  if (option === true) return IDEMPOTENCY_KEY.toLowerCase()
  if (typeof option === 'string' && option !== '') return option.toLowerCase()
  throw invalid(`idempotencyHeader is ${shown(option)}: it has to be true or the name of a field`)
}

/** The id that a field tells; undefined when it tells none. */
function idempotencyIdOf(req, field) {
  if (field === undefined) return undefined
  const lines = linesOf(req, field)
  return lines.length === 1 && typeof lines[0] === 'string' && /^[ -~]{1,255}$/.test(lines[0]) ? lines[0] : undefined
}

/** A value that no request brings about is the application's fault, as an exception in the hook would be. */
const wrongHook = (hook, value, right) =>
  new TypeError(`ratel: the hook ${hook} returned ${shown(value)}: ${right} is wanted, or undefined`)

function checkText(value, hook) {
  if (typeof value === 'string' || value === undefined || value === null || value instanceof Uint8Array) return
  throw wrongHook(hook, value, 'a string or an Uint8Array')
}

class Gate {
  constructor(limiter, options, more = []) {
    if (!(limiter instanceof Limiter)) throw invalid('limiter: not a Limiter')
    for (const name of Object.keys(options)) {
      if (!OPTIONS.includes(name) && !more.includes(name)) {
        throw invalid(noName('no option', name, [...OPTIONS, ...more]))
      }
    }
    for (const name of HOOKS) {
      if (options[name] !== undefined && typeof options[name] !== 'function') {
        throw invalid(`${name} is ${shown(options[name])}: it has to be a function`)
      }
    }
    this.limiter = limiter
    this.options = options
    this.flags = frame.word(options.headers ?? 0, 'headers', 'of Headers, joined by |')
    this.idempotencyField = idempotencyField(options.idempotencyHeader)
  }

  /**
   * Asks for a request: what comes of it, or a promise of that. `view` is what hooks get to see of `req`. undefined:
   * skipped.
   */
  ask(view, req, cost) {
    const hooks = this.options
    let skip, user, apiKey, attributes, units
    try {
      skip = hooks.skip?.(view)
      if (skip === true) return undefined
      user = hooks.user?.(view)
      apiKey = hooks.apiKey?.(view)
      attributes = hooks.attributes?.(view)
      units = hooks.cost?.(view) ?? cost
    } catch (error) {
      // One failure is told; promises of the hooks before it must not fail unheard.
      for (const value of [skip, user, apiKey, attributes]) {
        if (isPromise(value)) Promise.resolve(value).catch(() => {})
      }
      throw error
    }
    if (isPromise(skip) || isPromise(user) || isPromise(apiKey) || isPromise(attributes) || isPromise(units)) {
      return this.#await(req, [skip, user, apiKey, attributes, units])
    }
    return skip ? undefined : this.#put(req, user, apiKey, attributes, units)
  }

  async #await(req, hooks) {
    const [skip, ...values] = await Promise.all(hooks)
    return skip ? undefined : this.#put(req, ...values)
  }

  #put(req, user, apiKey, attributes, cost) {
    checkText(user, 'user')
    checkText(apiKey, 'apiKey')
    if (attributes && typeof attributes !== 'object')
      throw wrongHook('attributes', attributes, 'an object, a Map or a list')
    if (cost !== undefined && typeof cost !== 'number' && typeof cost !== 'bigint') {
      throw wrongHook('cost', cost, 'a number or a bigint')
    }
    const request = {
      method: req.method,
      path: bytesOf(req.originalUrl ?? req.url),
      user,
      apiKey,
      attributes,
      cost,
      idempotencyId: idempotencyIdOf(req, this.idempotencyField)
    }
    if (isCut(req)) throw invalid('the request has more header fields than node looks at (see maxHeadersCount)')
    const peer = req.socket?.remoteAddress ?? ''
    const xForwardedFor = linesOf(req, 'x-forwarded-for')
    const forwarded = linesOf(req, 'forwarded')
    if (!this.limiter._answersAtOnce) return this.#wait(req, request, peer, xForwardedFor, forwarded)
    const fields = this.limiter._allowHttp(request, peer, xForwardedFor, forwarded, this.flags)
    const decision =
      frame.allowed() && !this.options.keepDecision && frame.delayUs() === 0 ? undefined : frame.decision(0)
    if (this.options.keepDecision) {
      request.ip = this.limiter.clientIp(peer, xForwardedFor, forwarded)
      this.#keep(req, request, decision)
    }
    return { decision, fields }
  }

  async #wait(req, request, peer, xForwardedFor, forwarded) {
    request.ip = this.limiter.clientIp(peer, xForwardedFor, forwarded)
    const decision = await this.limiter.allowAsync(request)
    if (this.options.keepDecision) this.#keep(req, request, decision)
    return { decision, fields: fieldsOf(this.limiter.headers(decision, this.flags)) }
  }

  #keep(req, request, decision) {
    req[asked] = { request, decision }
  }

  /** Whether an allowed request is held back, and for how long. */
  delayMs(decision) {
    return this.options.ignoreDelay || decision === undefined ? 0 : decision.delayMs
  }
}

/** How a request is answered that there is no decision for: what it is itself to blame for, or not. */
function refusal(error) {
  if (!(error instanceof RatelError)) throw error
  if (error.code === 'RL_E_INVALID_ARGUMENT' && error.cause === undefined) {
    return { status: 400, text: `${error.message}\n` }
  }
  return { status: 503, text: 'the limits could not be checked\n' }
}

/** Calls back after a while; not when the client has gone meanwhile. */
function hold(res, ms, passed, gone) {
  const left = () => {
    clearTimeout(timer)
    gone?.()
  }
  const timer = setTimeout(() => {
    res.removeListener('close', left)
    passed()
  }, ms)
  res.once('close', left)
}

module.exports = { Gate, decisionOf, refusal, hold, isPromise, statusOf }
