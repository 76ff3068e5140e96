#!/usr/bin/env node

// gateway: an HTTP server, or a reverse proxy, with Ratel in front. docs/gateway.md tells its story.

const http = require('node:http')
const { parseArgs } = require('node:util')
const { Limiter } = require('ratel')
const { gateway, unreadable } = require('./gateway.js')

const usage = `usage: gateway --rules FILE [--listen HOST:PORT] [--upstream http://HOST:PORT] [--watch-ms N]
               [--redis URL] [--idempotency-header NAME]

  --rules FILE     rule file or folder; read again when it changes
  --listen         where to listen (127.0.0.1:0, a free port); the port is printed
  --upstream       the server to pass requests on to; without it the gateway answers by itself
  --watch-ms N     how often to look at the rules, in milliseconds (1000)
  --redis URL      where the counts are, shared by all gateways with the same RATEL_SECRET in their environment
  --idempotency-header NAME
                   a request that comes again with the same value is not charged again
`

class Usage extends Error {}

function upstreamOf(text) {
  if (text === undefined) return undefined
  const url = URL.canParse?.(text) === false ? undefined : new URL(text)
  if (url?.protocol !== 'http:' || url.pathname !== '/' || text.endsWith('/') || !/:\d+$/.test(text))
    throw new Usage('--upstream is http://HOST:PORT')
  return { hostname: url.hostname.replace(/^\[|\]$/g, ''), port: Number(/:(\d+)$/.exec(text)[1]) }
}

function parseOptions(given) {
  const text = { type: 'string' }
  let values
  try {
    values = parseArgs({
      args: given,
      options: {
        rules: text,
        listen: text,
        upstream: text,
        'watch-ms': text,
        redis: text,
        'idempotency-header': text,
        help: { type: 'boolean' }
      }
    }).values
  } catch (error) {
    throw new Usage(error.message)
  }
  if (values.help) return { help: true }
  const { rules, listen = '127.0.0.1:0', upstream, 'watch-ms': watch = '1000' } = values
  const address = /^(?:\[(.+)\]|([^:]*)):(\d{1,5})$/.exec(listen)
  if (!rules || !address || !/^\d{1,9}$/.test(watch)) throw new Usage('see gateway --help')
  const secret = process.env.RATEL_SECRET
  if (values.redis !== undefined && !secret)
    throw new Usage('--redis needs RATEL_SECRET in the environment, 16 to 1024 bytes, the same for all gateways')
  return {
    rules,
    host: address[1] ?? address[2],
    port: Number(address[3]),
    upstream: upstreamOf(upstream),
    watch: Number(watch),
    redis: values.redis,
    secret,
    idempotencyHeader: values['idempotency-header']
  }
}

function openLimiter({ rules, watch, redis, secret }) {
  const log = (level, text) => process.stderr.write(`${level}: ${text}\n`)
  const shared = redis === undefined ? {} : { redis, secret }
  const limiter = new Limiter({ file: rules, log, ...shared })
  limiter.watch(rules, watch)
  return limiter
}

/** Serves until a signal ends it; requests under way are answered first. */
function serve(options) {
  const limiter = openLimiter(options)
  const server = http.createServer({ headersTimeout: 10_000 }, gateway(limiter, options))
  server.on('clientError', unreadable)
  server.on('error', (error) => fail(`cannot listen on ${options.host}:${options.port}: ${error.message}`))
  server.listen(options.port, options.host, () => {
    const { address, port } = server.address()
    console.log(`listening on ${address.includes(':') ? `[${address}]` : address}:${port}`)
  })
  const stop = () => {
    server.close(() => {
      limiter.close()
      console.log('stopped')
      process.exit(0)
    })
    server.closeIdleConnections()
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

function fail(message) {
  process.stderr.write(`gateway: ${message}\n`)
  process.exit(2)
}

try {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) process.stdout.write(usage)
  else serve(options)
} catch (error) {
  fail(error.message)
}
