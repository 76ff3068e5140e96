// rate-limiter-flexible on Redis over ioredis: IN_FLIGHT loops that await, on one connection, which ioredis writes once per turn of its loop.
'use strict'

const { Redis } = require('ioredis')
const { RateLimiterRedis, RateLimiterRes } = require('rate-limiter-flexible')

if (process.argv.length !== 8) throw new Error('usage: PROGRAM MODE PORT KEYS DECISIONS LIMIT IN_FLIGHT')
const mode = process.argv[2]
const [port, keys, decisions, limit, inFlight] = process.argv.slice(3).map(Number)
if (!['plain', 'pipeline'].includes(mode)) throw new Error(`no mode ${mode}`)

const redis = new Redis({ port, host: '127.0.0.1', enableAutoPipelining: mode === 'pipeline' })
const limiter = new RateLimiterRedis({ storeClient: redis, points: limit, duration: 86400, keyPrefix: 'r' })
const took = new Float64Array(decisions)
let allowed = 0
let failed = 0
let next = 0

async function ask() {
  while (next < decisions) {
    const n = next++
    const key = `user:${String((n * 7919) % keys).padStart(26, '0')}`
    const asked = process.hrtime.bigint()
    try {
      await limiter.consume(key)
      allowed++
    } catch (reason) {
      if (!(reason instanceof RateLimiterRes)) failed++
    }
    took[n] = Number(process.hrtime.bigint() - asked)
  }
}

async function main() {
  for (let turn = 0; turn < 20; turn++) await Promise.allSettled(Array.from({ length: 256 }, () => limiter.consume('warm')))
  console.log('ready')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.destroy()
  const cpu = process.cpuUsage()
  const start = process.hrtime.bigint()
  await Promise.all(Array.from({ length: inFlight }, ask))
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const { user, system } = process.cpuUsage(cpu)
  took.sort()
  const percentile = (hundredths) => took[Math.floor(((decisions - 1) * hundredths) / 100)] / 1e3
  console.log(
    JSON.stringify({
      decisions,
      allowed,
      failed,
      seconds,
      cpu_seconds: (user + system) / 1e6,
      p50_us: percentile(50),
      p99_us: percentile(99)
    })
  )
  redis.disconnect()
}

main()
