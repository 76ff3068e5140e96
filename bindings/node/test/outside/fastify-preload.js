// With this, @fastify/rate-limit's own tests use the store of this package wherever they name none. The time is that
// of Date, mocked or not, from the first
// question on: a window that is aligned to the clock shall not end by chance in the midst of a test.

const plugin = require('fastify-plugin')
const { ratelStore } = require('../../lib/fastify-rate-limit.js')

function clockOf() {
  let began
  return () => {
    began ??= Date.now()
    return Date.now() - began
  }
}

const file = require.resolve('@fastify/rate-limit')
const original = require(file)
const switched = plugin(
  (fastify, settings) =>
    original(fastify, settings.store ? settings : { ...settings, store: ratelStore({ clock: clockOf() }) }),
  original[Symbol.for('plugin-meta')]
)
require.cache[file].exports = Object.assign(switched, original, { default: switched, fastifyRateLimit: switched })
