// What a middleware adds to a handler, without a server and a network around it: node's own answers, made for each request.

const http = require('node:http')
const { middlewares } = require('./middlewares.js')
const { used } = require('./report.js')

const NAMES = ['none', 'ratel', 'rate-limiter-flexible']

const socket = { remoteAddress: '127.0.0.1', server: { maxHeadersCount: null } }
const request = {
  method: 'GET',
  url: '/some/path',
  headers: { host: 'bench', 'x-user': 'user-1' },
  rawHeaders: ['Host', 'bench', 'X-User', 'user-1'],
  socket
}

/** So many requests, one after the other. */
const turnOf = () =>
  new Function(
    'ServerResponse, request',
    `return async (middleware, calls) => {
      let passed = 0, resolve
      const next = () => { passed++; resolve?.() }
      for (let i = 0; i < calls; i++) {
        const before = passed
        middleware(request, new ServerResponse(request), next)
        if (passed === before) await new Promise((done) => { resolve = done })
      }
      return passed
    }`
  )(http.ServerResponse, request)

async function micro(report, { rounds, block, only }) {
  const runners = []
  for (const name of NAMES) {
    if (only && !only.test(name)) continue
    const middleware = middlewares[name]()
    const run = turnOf()
    let calls = 500
    const turn = async () => {
      const begin = used()
      const passed = await run(middleware, calls)
      if (passed !== calls) throw new Error(`${name}: ${passed} of ${calls} passed`)
      return (used() - begin) / calls
    }
    for (let warm = 0; warm < 40; warm++) await turn()
    calls = Math.ceil((block * 1e6) / (await turn()))
    runners.push({ row: report.row('middleware', name, 1), turn })
  }
  for (let round = 0; round < rounds; round++) {
    globalThis.gc?.()
    for (const { row, turn } of runners) row.ns.push(await turn())
  }
  report.print('middleware', 1)
}

module.exports = { micro }
