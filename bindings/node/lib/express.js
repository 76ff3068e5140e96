// For express, connect, and whatever else calls (req, res, next) with node's own requests, HTTP/2 ones included.

const { Gate, decisionOf, refusal, hold, isPromise, statusOf } = require('./http.js')

/**
 * A middleware: it asks for each request, sets the header fields of the decision, and answers denials by itself: 429,
 * 403 for action:
 * block, 503 when the store failed and the rule is closed, with an RFC 9457 body.
 */
function rateLimit(limiter, options = {}) {
  const gate = new Gate(limiter, options)
  const fail = (req, res, next) => (error) => failed(gate, req, res, next, error)
  return function ratel(req, res, next) {
    let outcome
    try {
      outcome = gate.ask(req, req)
    } catch (error) {
      return failed(gate, req, res, next, error)
    }
    if (!isPromise(outcome)) return answer(gate, req, res, next, outcome)
    outcome.then((value) => answer(gate, req, res, next, value), fail(req, res, next)).catch(next)
  }
}

/** Nothing that `next` throws is taken for a failure of ours. */
function answer(gate, req, res, next, outcome) {
  if (outcome === undefined) return next()
  if (gone(res)) return
  const { decision, fields } = outcome
  for (let i = 0; i < fields.length; i += 2) res.setHeader(fields[i], fields[i + 1])
  if (decision !== undefined && !decision.allowed) return denied(gate, req, res, next, decision)
  const ms = gate.delayMs(decision)
  if (ms === 0) return next()
  hold(res, ms, next)
}

/** What a hook promised and did not keep goes where a throw of it goes. */
function heard(value, next) {
  if (isPromise(value)) Promise.resolve(value).catch(next)
}

/** Whether nobody reads an answer, or another one is under way. */
const gone = (res) => res.headersSent || (res.destroyed ?? res.stream?.destroyed)

function denied(gate, req, res, next, decision) {
  if (gate.options.denied) return heard(gate.options.denied(req, res, decision, next), next)
  let body
  try {
    body = gate.limiter.problem(decision)
  } catch (error) {
    return failed(gate, req, res, next, error)
  }
  send(req, res, statusOf(decision), 'application/problem+json', body)
}

function failed(gate, req, res, next, error) {
  if (gate.options.failed) return heard(gate.options.failed(req, res, error, next), next)
  if (gone(res)) return
  try {
    const { status, text } = refusal(error)
    send(req, res, status, 'text/plain; charset=utf-8', text)
  } catch (other) {
    next(other)
  }
}

function send(req, res, status, type, body) {
  res.statusCode = status
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', Buffer.byteLength(body))
  if (req.method === 'HEAD') res.end()
  else res.end(body)
}

module.exports = { rateLimit, decisionOf }
