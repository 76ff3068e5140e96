// What a middleware costs a server per HTTP request, in processor time of the server's process: keep-alive, hello world.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const net = require('node:net')
const path = require('node:path')

const CONNECTIONS = 16
const names = {
  'node:http': ['none', 'ratel', 'rate-limiter-flexible'],
  express: ['none', 'ratel', 'express-rate-limit', 'rate-limiter-flexible']
}

/** One connection that asks `count` times, one after the other. Every answer has to be a 200. */
async function client(port, user, count) {
  const socket = net.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const request = `GET / HTTP/1.1\r\nHost: bench\r\nX-User: ${user}\r\n\r\n`
  let text = ''
  let left = count
  await new Promise((resolve, reject) => {
    socket
      .setEncoding('latin1')
      .on('error', reject)
      .on('data', (chunk) => {
        text += chunk
        if (!text.endsWith('hello world') && !text.endsWith('0\r\n\r\n')) return
        if (!text.startsWith('HTTP/1.1 200 ')) return reject(new Error(text))
        text = ''
        if (--left === 0) return resolve()
        socket.write(request)
      })
    socket.write(request)
  })
  socket.destroy()
}

const round = (port, count) =>
  Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => client(port, `user-${i}`, Math.ceil(count / CONNECTIONS))))

async function cpuOf(child) {
  child.send('cpu')
  const [{ microseconds }] = await once(child, 'message')
  return microseconds
}

/** A server, warm, that tells the nanoseconds of processor time of each request. */
async function start(row, framework, requests) {
  const child = fork(path.join(__dirname, 'server.js'), [row.name, framework])
  const [{ port }] = await once(child, 'message')
  await round(port, requests)
  const turn = async () => {
    const before = await cpuOf(child)
    await round(port, requests)
    return (1000 * ((await cpuOf(child)) - before)) / requests
  }
  return { row, turn, end: () => child.kill() }
}

async function middleware(report, { rounds, block, only }) {
  const requests = CONNECTIONS * Math.ceil((block * 150) / CONNECTIONS)
  for (const [framework, list] of Object.entries(names)) {
    const servers = []
    for (const name of list) {
      if (only && !only.test(name)) continue
      servers.push(await start(report.row(framework, name, 1), framework, requests))
    }
    for (let n = 0; n < rounds; n++) {
      for (const { row, turn } of servers) row.ns.push(await turn())
    }
    for (const { end } of servers) end()
    report.print(framework, 1)
  }
}

module.exports = { middleware }
