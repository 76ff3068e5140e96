// The server of middleware.js: an express app, or node:http alone, with or without a middleware. Tells its port, and what its
// processor time was when asked.

const http = require('node:http')
const express = require('express')
const { middlewares } = require('./middlewares.js')

const [, , name, framework] = process.argv
const middleware = middlewares[name]()
const hello = (_req, res) => {
  res.setHeader('Content-Type', 'text/plain')
  res.end('hello world')
}
const app =
  framework === 'express'
    ? express().use(middleware).get('/', hello)
    : (req, res) => middleware(req, res, () => hello(req, res))
const server = http.createServer(app).listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ microseconds: user + system })
})
