const { rateLimit } = require('ratel/express')
const { passOn } = require('./upstream.js')

const MAX_PATH = 2048 // above that a path is refused, as in the gateways of the other languages
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const MAX_COST = 2n ** 63n - 1n

/** What answers requests: decides on every one before anything else happens to it. `upstream` is a URL, or nothing. */
function gateway(limiter, { upstream, idempotencyHeader }) {
  const limited = rateLimit(limiter, { user, apiKey: (req) => first(req, 'x-api-key'), cost, idempotencyHeader })
  return (req, res) => {
    // HTTP/0.9, or a client that has gone before it was looked at: it has no address, and is not counted.
    if (req.httpVersionMajor !== 1 || req.socket.remoteAddress === undefined) return refuse(res)
    // Nobody reads that body, unless the request is let through.
    if (hasBody(req)) res.setHeader('Connection', 'close')
    if (!METHODS.has(req.method)) return text(res, 400, 'bad request')
    const [path] = req.url.split(/[?#]/, 1)
    if (path.length > MAX_PATH) return text(res, 414, 'the path is too long')
    if (path === '/metrics') return metrics(res, limiter)
    if (cost(req) === null) return text(res, 400, 'X-Cost is a whole number, at least 1')
    limited(req, res, () => {
      if (takesBody(req)) res.removeHeader('Connection')
      if (upstream) passOn(req, res, upstream, takesBody(req))
      else answer(req, res)
    })
  }
}

function refuse(res) {
  res.setHeader('Connection', 'close')
  text(res, 400, 'bad request')
}

/** The first line of a field; node would join them. */
const first = (req, name) => req.headersDistinct[name]?.[0]

const length = (req) => Number(req.headers['content-length'] ?? 0)
const hasBody = (req) => length(req) > 0 || req.headers['transfer-encoding'] !== undefined
const takesBody = (req) => ['POST', 'PUT', 'PATCH'].includes(req.method) || (req.method === 'DELETE' && length(req) > 0)

function text(res, status, line) {
  res.statusCode = status
  res.setHeader('Content-Type', 'text/plain')
  res.setHeader('Content-Length', Buffer.byteLength(line) + 1)
  res.end(`${line}\n`)
}

async function metrics(res, limiter) {
  const body = await limiter.prometheusAsync()
  res.setHeader('Content-Type', 'text/plain; version=0.0.4')
  res.setHeader('Content-Length', Buffer.byteLength(body))
  res.end(body)
}

/**
 * A stand-in for authentication: it believes what it is told. A real gateway verifies the token and takes the user
 * from it.
 */
function user(req) {
  return first(req, 'x-user') || /^Bearer (.*)$/.exec(req.headers.authorization ?? '')?.[1]
}

/**
 * Another stand-in: a real gateway works it out from the request. undefined is what the rule says, null is no number.
 */
function cost(req) {
  const field = first(req, 'x-cost')
  if (field === undefined || field === '') return undefined
  if (!/^\d{1,19}$/.test(field)) return null
  const units = BigInt(field)
  return units >= 1n && units <= MAX_COST ? units : null
}

/** What the gateway does by itself. */
async function answer(req, res) {
  let received = 0
  if (takesBody(req)) {
    try {
      for await (const chunk of req) received += chunk.length
    } catch {
      return
    }
  }
  text(res, 200, `served ${req.method}, ${received} bytes of body`)
}

/** What cannot be read as a request is answered as the gateways of the other languages do it. */
function unreadable(error, socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
  const line = error.rawPacket?.indexOf('\r\n') ?? 0
  const longPath = error.code === 'HPE_HEADER_OVERFLOW' && (line < 0 || line > MAX_PATH)
  const [status, body] = longPath
    ? ['414 URI Too Long', 'the path is too long\n']
    : ['400 Bad Request', 'bad request\n']
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

module.exports = { gateway, unreadable }
