const plugin = require('fastify-plugin')
const { Gate, decisionOf, refusal, hold, statusOf } = require('./http.js')

const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

/**
 * A plugin: it asks for each request in a hook (onRequest unless `hook` says otherwise), sets the header fields of the
 * decision, and answers denials by itself.
 * A route is left out by `config: {ratel: false}`, and costs more by `config: {ratel: {cost: 5}}`.
 */
async function ratelFastify(fastify, { limiter, hook = 'onRequest', ...options }) {
  const gate = new Gate(limiter, options)
  if (!HOOKS.includes(hook)) throw new TypeError(`ratel: hook is one of ${HOOKS.join(', ')}`)
  fastify.addHook(hook, async (request, reply) => {
    const route = request.routeOptions?.config?.ratel
    if (route === false) return
    let outcome
    try {
      outcome = await gate.ask(request, request.raw, route?.cost)
    } catch (error) {
      return failed(gate, request, reply, error)
    }
    if (outcome !== undefined) return answer(gate, request, reply, outcome)
  })
}

function answer(gate, request, reply, { decision, fields }) {
  for (let i = 0; i < fields.length; i += 2) reply.header(fields[i], fields[i + 1])
  if (decision !== undefined && !decision.allowed) return denied(gate, request, reply, decision)
  const ms = gate.delayMs(decision)
  if (ms === 0) return
  return new Promise((resolve) => {
    hold(reply.raw, ms, resolve, () => {
      reply.hijack()
      resolve()
    })
  })
}

/** A hook that returns without an answer (or the reply, which says that one will come) is no way past the limit. */
async function answered(reply, value, status) {
  const returned = await (value === reply ? undefined : value)
  if (value === reply || returned === reply || reply.sent) return reply
  if (reply.statusCode < 400) reply.code(status)
  return reply.send()
}

function denied(gate, request, reply, decision) {
  if (gate.options.denied) return answered(reply, gate.options.denied(request, reply, decision), statusOf(decision))
  return reply.code(statusOf(decision)).type('application/problem+json').send(gate.limiter.problem(decision))
}

function failed(gate, request, reply, error) {
  if (gate.options.failed) return answered(reply, gate.options.failed(request, reply, error), 503)
  const { status, text } = refusal(error)
  return reply.code(status).type('text/plain; charset=utf-8').send(text)
}

module.exports = plugin(ratelFastify, { fastify: '>=4', name: 'ratel' })
module.exports.default = module.exports
module.exports.ratelFastify = module.exports
module.exports.decisionOf = decisionOf
