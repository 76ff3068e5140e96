// Requests and answers pass as they came, piece by piece.

const http = require('node:http')
const { pipeline } = require('node:stream')

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
]
// The gateway writes X-Forwarded-For alone: the next hop must not believe a Forwarded that the client wrote.
const LEFT_BEHIND = ['forwarded', 'x-forwarded-for', 'expect']
const agent = new http.Agent({ keepAlive: true })

/** Fields by name, each with all its lines, without those of one connection. */
function fieldsOf(message, left) {
  const names = new Set([...HOP_BY_HOP, ...left])
  for (const name of (message.headers.connection ?? '').split(',')) names.add(name.trim().toLowerCase())
  const fields = new Map()
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    const name = message.rawHeaders[i].toLowerCase()
    if (names.has(name)) continue
    if (!fields.has(name)) fields.set(name, [message.rawHeaders[i], []])
    fields.get(name)[1].push(message.rawHeaders[i + 1])
  }
  return [...fields.values()]
}

/** The target as the next server is asked for it: without a scheme and host in front, and without a fragment. */
const targetOf = (url) => url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/#.*$/, '') || '/'

function ask(req, upstream, hasBody) {
  const left = hasBody ? LEFT_BEHIND : [...LEFT_BEHIND, 'content-length']
  const asked = http.request({
    agent,
    host: upstream.hostname,
    port: upstream.port,
    method: req.method,
    path: targetOf(req.url),
    setHost: false
  })
  for (const [name, lines] of fieldsOf(req, left)) asked.setHeader(name, lines.length === 1 ? lines[0] : lines)
  const chain = [req.headers['x-forwarded-for'], req.socket.remoteAddress].filter(Boolean)
  asked.setHeader('X-Forwarded-For', chain.join(', '))
  return asked
}

function passOn(req, res, upstream, hasBody) {
  let answered = false
  const asked = ask(req, upstream, hasBody)
  const failed = () => {
    if (answered) return res.destroy()
    answered = true
    res.statusCode = 502
    res.setHeader('Content-Type', 'text/plain')
    res.setHeader('Connection', 'close') // the body may be unread
    res.end('the server behind the gateway gave no answer\n')
  }
  asked.on('error', failed)
  asked.on('response', (answer) => {
    if (answered) return answer.destroy()
    answered = true
    for (const [name, lines] of fieldsOf(answer, [])) {
      if (!res.hasHeader(name)) res.setHeader(name, lines.length === 1 ? lines[0] : lines) // ours stay
    }
    res.writeHead(answer.statusCode, answer.statusMessage)
    res.flushHeaders()
    pipeline(answer, res, () => {})
  })
  res.on('close', () => asked.destroy())
  if (hasBody) req.pipe(asked)
  else asked.end()
}

module.exports = { passOn }
