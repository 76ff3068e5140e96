// A redis-server of its own for a test file: on a unix socket in a temporary folder.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const { existsSync, mkdtempSync, rmSync } = require('node:fs')
const { connect } = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { engine } = require('..')

/** Why there is none; undefined when there is. */
function missing() {
  if (!engine().features.includes('redis')) return 'this engine was built without Redis'
  if (spawnSync('redis-server', ['--version']).error) return 'redis-server is not installed'
  return undefined
}

class RedisServer {
  async start(more = []) {
    this.folder = mkdtempSync(path.join(os.tmpdir(), 'ratel-'))
    this.socket = path.join(this.folder, 's')
    const given = ['--port', '0', '--unixsocket', this.socket, '--save', '', '--dir', this.folder]
    this.process = spawn('redis-server', [...given, ...more], { stdio: 'ignore' })
    for (let n = 0; n < 1000 && !existsSync(this.socket); n++) await new Promise((resolve) => setTimeout(resolve, 10))
    return this
  }

  /** Deadlines are long, since tests share their machine. */
  url(options = '') {
    return `unix://${this.socket}?deadline_ms=20000${options}`
  }

  /** Puts a text under a key. */
  async set(key, text) {
    const socket = connect(this.socket)
    const [name, value] = [Buffer.from(key), Buffer.from(text)]
    socket.write(`*3\r\n$3\r\nSET\r\n$${name.length}\r\n${key}\r\n$${value.length}\r\n${text}\r\n`)
    const [answer] = await once(socket, 'data')
    socket.destroy()
    if (answer.toString() !== '+OK\r\n') throw new Error(answer.toString())
  }

  stop() {
    this.process.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }
}

module.exports = { RedisServer, missing }
