// What a middleware costs a server per HTTP request, in processor time of the server's process: keep-alive, hello world.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const net = require('node:net')
const path = require('node:path')
const { printMachine, median } = require('./machine.js')

const CONNECTIONS = 16
const REQUESTS = Number(process.env.REQUESTS ?? 20_000)
const ROUNDS = Number(process.env.ROUNDS ?? 7)
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

/** A server, warm, that tells the microseconds of a round's requests. */
async function start(name, framework) {
  const child = fork(path.join(__dirname, 'server.js'), [name, framework])
  const [{ port }] = await once(child, 'message')
  await round(port, REQUESTS)
  const measure = async () => {
    const before = await cpuOf(child)
    await round(port, REQUESTS)
    return ((await cpuOf(child)) - before) / REQUESTS
  }
  return { name, measure, rounds: [], end: () => child.kill() }
}

async function main() {
  printMachine()
  for (const [framework, list] of Object.entries(names)) {
    const servers = []
    for (const name of list) servers.push(await start(name, framework))
    for (let n = 0; n < ROUNDS; n++) {
      for (const server of servers) server.rounds.push(await server.measure())
    }
    const [none] = servers
    const floor = median(none.rounds)
    console.log(`${framework}: microseconds of the server's processor time per request`)
    for (const { name, rounds, end } of servers) {
      const all = median(rounds)
      const share = (100 * (all - floor)) / all
      console.log(
        `  ${name.padEnd(24)} ${all.toFixed(2).padStart(8)}   ${name === 'none' ? '' : `${share.toFixed(1)} % of it the middleware's`}`
      )
      end()
    }
  }
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
