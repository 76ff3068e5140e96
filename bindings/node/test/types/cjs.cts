// The same from CommonJS.
import ratel = require('ratel')
import express = require('ratel/express')
import fastify = require('ratel/fastify')
import store = require('ratel/express-rate-limit')
import fastifyStore = require('ratel/fastify-rate-limit')

const limiter = new ratel.Limiter({ file: 'rules.yaml' })
const decision: ratel.Decision = limiter.peek({ path: '/' })
export const all = [
  decision,
  express.rateLimit(limiter),
  fastify.ratelFastify,
  new store.RatelStore(),
  fastifyStore.ratelStore()
]
