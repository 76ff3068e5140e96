// What is put in front of a handler: by user, with X-RateLimit fields.

const { rateLimit: expressRateLimit } = require('express-rate-limit')
const { RateLimiterMemory } = require('rate-limiter-flexible')
const { Limiter } = require('ratel')
const { rateLimit } = require('ratel/express')

const LIMIT = 2 ** 31 - 1
const rules = {
  version: 1,
  default: { name: 'd', scope: 'user', algorithm: 'token_bucket', limit: LIMIT, window: '1h' }
}

function flexible() {
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: 3600 })
  return (req, res, next) => {
    limiter.consume(req.headers['x-user']).then(
      ({ remainingPoints, msBeforeNext }) => {
        res.setHeader('X-RateLimit-Limit', LIMIT)
        res.setHeader('X-RateLimit-Remaining', remainingPoints)
        res.setHeader('X-RateLimit-Reset', Math.ceil(msBeforeNext / 1000))
        next()
      },
      () => res.status(429).end()
    )
  }
}

const middlewares = {
  none: () => (_req, _res, next) => next(),
  ratel: () => rateLimit(new Limiter({ rules }), { user: (req) => req.headers['x-user'] }),
  'express-rate-limit': () =>
    expressRateLimit({ windowMs: 3_600_000, limit: LIMIT, keyGenerator: (req) => req.headers['x-user'] }),
  'rate-limiter-flexible': flexible
}

module.exports = { middlewares }
