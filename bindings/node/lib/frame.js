// The frame: the one ArrayBuffer of this environment through which requests go in and decisions come out. src/frame.h
// has the layout.

const native = require('./native.js')
const { Decision, bitsOf } = require('./decision.js')
const { RatelError, invalid } = require('./errors.js')
const { shown, noName } = require('./names.js')

const RECORDS = 512
const RECORD = 160
const USUAL = 1 << 16
const WHOLE = 2 // a cost that is an int64_t
const LARGEST = 2 ** 31 - 1
const FIRST = 0.001 // the first instant there is
const MAX_US = Number.MAX_SAFE_INTEGER
const MOST_UNITS = 2n ** 63n - 1n
const FIELDS = ['method', 'path', 'user', 'apiKey', 'ip', 'key', 'rule', 'cost', 'time', 'attributes', 'idempotencyId']
const INSTANT = 'milliseconds since 1970 up to the year 2255, or nanoseconds as a bigint'
const LONE_SURROGATE = /\p{Surrogate}/u
const LOOPED = 48 // above it a call of TextEncoder is faster than a loop
const SHORT = 128 // what the usual frame surely has room for
const QUICK = 6 * SHORT // room for the strings of a request that are short

// Places in the views: header, in 4 bytes and in 8.
const LIMITER = 0
const COUNT = 1
const BYTES_OFFSET = 2
const BYTES_END = 3
const FLAGS = 4
const STATUS = 5
const TICKET = 6
const X_FORWARDED_FOR_COUNT = 7
const FORWARDED_COUNT = 8
const NUMBER = 5
const EARLIER_4 = 12
const EARLIER_8 = 8
const COUNTERS = 18
const FIELD_COUNT = 100
const FIRST_FIELD = 101
const RECORD_4 = RECORDS / 4
const RECORD_8 = RECORDS / 8

const FIRST_BYTE = RECORDS + RECORD // of a single request

// The usual frame's own views: what is constant costs nothing to look up.
const usual = new ArrayBuffer(USUAL)
const usual4 = new Uint32Array(usual)
const usual8 = new Float64Array(usual)
const usualBytes = new Uint8Array(usual)
const encoder = new TextEncoder()
let buffer
let size
let u32
let i32
let f64
let bytes
let at = 0 // where the next byte of a request goes
let turn = 0 // changes with each use

// Methods and paths come again, so their bytes are left where they are. Of the last single request, as long as nobody
// else has used the frame since:
let heldTurn = -1
let heldMethod
let heldPath
let heldMethodSize = 0
let heldPathSize = 0
// Of the one before among many, which C knows as well:
const NEITHER = Symbol('neither')
const SAME_METHOD = 1
const SAME_PATH = 2
let beforeMethod
let beforePath

function use(arrayBuffer) {
  buffer = arrayBuffer
  size = buffer.byteLength
  u32 = new Uint32Array(buffer, 0, Math.floor(size / 4))
  i32 = new Int32Array(buffer, 0, Math.floor(size / 4))
  f64 = new Float64Array(buffer, 0, Math.floor(size / 8))
  bytes = Buffer.from(buffer)
  native.bind(buffer)
}
use(usual)

function allocate(room) {
  if (room > LARGEST) throw invalid('a request has at most 2 GiB')
  try {
    return new ArrayBuffer(Math.ceil(room / 8) * 8)
  } catch {
    throw new RatelError('RL_E_NO_MEMORY', `no memory for a request of ${room} bytes`)
  }
}

/** Makes room for `more` bytes behind `at`. The next call goes back to the usual frame. */
function grow(more) {
  const needed = at + more
  const larger = allocate(Math.max(needed, Math.min(size * 2, LARGEST - 7)))
  new Uint8Array(larger).set(new Uint8Array(buffer, 0, Math.min(size, Math.max(at, RECORDS))))
  use(larger)
}

/** Begins a call: `count` requests of a limiter follow. */
function begin(limiter, count) {
  turn++
  if (buffer !== usual) use(usual)
  at = RECORDS + RECORD * count
  if (at > size) grow(0)
  u32[LIMITER] = limiter
  u32[COUNT] = count
  u32[BYTES_OFFSET] = at
  u32[BYTES_END] = at
  u32[FLAGS] = 0
}

/** Writes a string and returns its size in bytes. */
function put(text, name) {
  if (text === undefined || text === null) return 0
  if (typeof text !== 'string') return putBytes(text, name)
  const length = text.length
  if (at + length > size) grow(length)
  if (length > LOOPED) {
    if (!isEncoded(text, bytes.subarray(at))) return putLong(text, name)
    at += length
    return length
  }
  const to = bytes
  const start = at
  let all = 0
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    to[start + i] = code
    all |= code
  }
  if (all > 127) return putLong(text, name)
  at = start + length
  return length
}

/**
 * Writes a string of ASCII into `to`, which has a byte for each character at least. False: it is something else, which
 * takes more bytes than it has characters, half of a surrogate pair as well: all of it, or as much as there is room for.
 */
function isEncoded(text, to) {
  const { read, written } = encoder.encodeInto(text, to)
  return read === text.length && written === read
}

function putLong(text, name) {
  if (LONE_SURROGATE.test(text)) throw invalid(`${name} has half of a surrogate pair`)
  const length = Buffer.byteLength(text)
  if (at + length > size) grow(length)
  bytes.write(text, at, length, 'utf8')
  at += length
  return length
}

// Not by the name, which a class may have made its own: its code may ask, too, and nothing says that it tells the truth.
const lengthOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length').get

function putBytes(value, name) {
  if (!(value instanceof Uint8Array)) throw invalid(`${name} is ${shown(value)}: neither a string nor an Uint8Array`)
  const length = lengthOf.call(value)
  if (at + length > size) grow(length)
  Uint8Array.prototype.set.call(bytes, value, at)
  at += length
  return length
}

/** Room for the sizes of so many strings that follow: its place among the numbers of 4 bytes. */
function sizesOf(count) {
  at = (at + 3) & ~3
  const sizes = at / 4
  if (at + count * 4 > size) grow(count * 4)
  at += count * 4
  return sizes
}

/** Strings with their sizes in front. */
function putList(list, name) {
  const sizes = sizesOf(list.length)
  for (let i = 0; i < list.length; i++) {
    const length = put(list[i], name)
    u32[sizes + i] = length
  }
}

function putLine(place, line) {
  const length = put(line, 'a line')
  u32[place] = length
}

/** Microseconds of an instant: milliseconds since 1970, or nanoseconds as a bigint. NaN when it is neither. */
function microseconds(time) {
  if (typeof time === 'number') return Math.round(time * 1000)
  if (typeof time === 'bigint' && time >= 0n) return Number(time / 1000n)
  return Number.NaN
}

function instant(time, name = 'time') {
  if (time === undefined) return 0
  const us = microseconds(time)
  if (!(us >= 0 && us <= MAX_US)) throw invalid(`${name} is ${shown(time)}: it has to be ${INSTANT}`)
  return us === 0 ? FIRST : us // 0 is how the engine is told to read its clock
}

/** Microseconds that a clock has told. Throws what is wrong with them. */
function clocked(time) {
  const us = microseconds(time)
  if (us >= 0 && us <= MAX_US) return us
  throw new TypeError(`it told ${shown(time)}, not ${INSTANT}`)
}

/** A number that doubles hold, or a bigint that 64 bits hold. NaN for none. */
function units(cost, name) {
  if (cost === undefined) return Number.NaN
  if (Number.isSafeInteger(cost)) return cost
  if (typeof cost !== 'bigint' || cost > MOST_UNITS || cost < -MOST_UNITS) throw wrongUnits(cost, name)
  const number = Number(cost)
  return Number.isSafeInteger(number) ? number : cost
}

function wrongUnits(cost, name) {
  let right = 'units are a whole number'
  if (typeof cost === 'bigint') right = 'units fit 64 bits'
  else if (Number.isInteger(cost)) right = 'units are a bigint from 2^53 on'
  return invalid(`${name} is ${shown(cost)}: ${right}`)
}

/** The eight bytes of a number as an int64_t. */
const whole = (index) => new BigInt64Array(buffer, index * 8, 1)

function putUnits(index, cost) {
  if (typeof cost === 'bigint') whole(index)[0] = cost
  else f64[index] = cost
  return typeof cost === 'bigint' ? WHOLE : 0
}

function id(rule) {
  if (rule === undefined) return 0
  return word(rule, 'rule', 'an id, see ruleId')
}

/** 32 bits, which `right` describes. */
function word(value, name, right) {
  if (typeof value !== 'number' || value >>> 0 !== value) throw invalid(`${name} is ${shown(value)}: ${right}`)
  return value
}

function wrongAttributes(attributes, pair) {
  const wrong = pair === undefined ? shown(attributes) : `${shown(attributes)} that holds ${shown(pair)}`
  return invalid(`attributes is ${wrong}: it has to be an object, a Map or a list of pairs`)
}

/** Names and values in turn. */
function attributeList(attributes) {
  if (attributes === undefined || attributes === null) return undefined
  if (typeof attributes !== 'object') throw wrongAttributes(attributes)
  const pairs = typeof attributes[Symbol.iterator] === 'function' ? attributes : Object.entries(attributes)
  const list = []
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2) throw wrongAttributes(attributes, pair)
    list.push(pair[0], pair[1])
  }
  return list
}

/** Refuses what is no request: a field that nobody reads would be a limit that nobody asks. */
function check(asked) {
  if (asked === null || typeof asked !== 'object' || Array.isArray(asked)) {
    throw invalid(`a request is an object, not ${shown(asked)}`)
  }
  for (const name in asked) {
    switch (name) {
      case 'method':
      case 'path':
      case 'user':
      case 'apiKey':
      case 'ip':
      case 'key':
      case 'rule':
      case 'cost':
      case 'time':
      case 'attributes':
      case 'idempotencyId':
        continue
      default:
        throw invalid(noName('a request has no field', name, FIELDS))
    }
  }
}

/** A short string of ASCII into the usual frame: its size. Below 0: it is something else. */
function quickly(text, to) {
  if (text === undefined || text === null) return 0
  if (typeof text !== 'string') return -1
  const length = text.length
  if (length > LOOPED) return length <= SHORT && isEncoded(text, usualBytes.subarray(to)) ? length : -1
  let all = 0
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    usualBytes[to + i] = code
    all |= code
  }
  return all > 127 ? -1 : length
}

/**
 * The i-th request in the usual frame behind its method and path, its strings from `from` on, where there is room: the
 * end of them. Below 0: it is not as most are, and what is written does not count.
 */
function quick(i, from, same, methodSize, pathSize, rule, cost, now, user, apiKey, ip, key) {
  // Not one step below `from`: there the request before ends.
  let to = from
  const userSize = quickly(user, to)
  if (userSize < 0) return -1
  to += userSize
  const apiKeySize = quickly(apiKey, to)
  if (apiKeySize < 0) return -1
  to += apiKeySize
  const ipSize = quickly(ip, to)
  if (ipSize < 0) return -1
  to += ipSize
  const keySize = quickly(key, to)
  if (keySize < 0) return -1
  to += keySize
  quickRecord(i, same, methodSize, pathSize, rule, cost, now, userSize, apiKeySize, ipSize, keySize)
  return to
}

function quickRecord(i, same, methodSize, pathSize, rule, cost, now, userSize, apiKeySize, ipSize, keySize) {
  const o4 = RECORD_4 + (RECORD / 4) * i
  const o8 = RECORD_8 + (RECORD / 8) * i
  usual8[o8] = now
  usual8[o8 + 1] = cost
  usual4[o4 + 4] = rule
  usual4[o4 + 5] = 0
  usual4[o4 + 6] = methodSize
  usual4[o4 + 7] = pathSize
  usual4[o4 + 8] = userSize
  usual4[o4 + 9] = apiKeySize
  usual4[o4 + 10] = ipSize
  usual4[o4 + 11] = keySize
  usual4[o4 + 12] = 0
  usual4[o4 + 14] = 0
  usual4[o4 + 15] = same
}

/** Begins a call with one request that is in the usual frame, its strings up to `to`. */
function quickHeader(limiter, to) {
  if (buffer !== usual) use(usual)
  turn++
  at = to
  usual4[LIMITER] = limiter
  usual4[COUNT] = 1
  usual4[BYTES_OFFSET] = FIRST_BYTE
  usual4[BYTES_END] = to
  usual4[FLAGS] = 0
}

/** Method and path of a single request. False: they are not as most are. */
function held(method, path) {
  const sameMethod = turn === heldTurn && method === heldMethod
  heldTurn = -1
  heldMethod = method
  heldPath = path
  if (!sameMethod) heldMethodSize = quickly(method, FIRST_BYTE)
  if (heldMethodSize < 0) return false
  heldPathSize = quickly(path, FIRST_BYTE + heldMethodSize)
  return heldPathSize >= 0
}

/** Begins a call with one request whose fields have been read. */
function single(limiter, rule, cost, now, method, path, user, apiKey, ip, key, attributes, idempotencyId) {
  if (attributes === undefined && idempotencyId === undefined && typeof cost === 'number') {
    if ((turn === heldTurn && method === heldMethod && path === heldPath) || held(method, path)) {
      const from = FIRST_BYTE + heldMethodSize + heldPathSize
      const to = quick(0, from, 0, heldMethodSize, heldPathSize, rule, cost, now, user, apiKey, ip, key)
      if (to >= 0) {
        quickHeader(limiter, to)
        heldTurn = turn
        return
      }
    }
  }
  begin(limiter, 1)
  write(0, rule, cost, now, method, path, user, apiKey, ip, key, attributes, idempotencyId)
}

/** Begins a call with one request. All of it is read before anything is written: its getters may ask, too. */
function one(limiter, asked) {
  check(asked)
  own(limiter, asked)
}

/** The same for a request that this package has made. */
function own(limiter, asked) {
  const { method, path, user, apiKey, ip, key, idempotencyId } = asked
  const rule = id(asked.rule)
  const cost = units(asked.cost, 'cost')
  const now = instant(asked.time)
  const attributes = attributeList(asked.attributes)
  single(limiter, rule, cost, now, method, path, user, apiKey, ip, key, attributes, idempotencyId)
}

/** The same for a rule that is known. */
function byRule(limiter, rule, cost, key) {
  const keySize = typeof cost === 'number' ? quickly(key, FIRST_BYTE) : -1
  if (keySize < 0) {
    begin(limiter, 1)
    write(0, rule, cost, 0, undefined, undefined, undefined, undefined, undefined, key, undefined, undefined)
    return
  }
  heldTurn = -1
  quickRecord(0, 0, 0, 0, rule, cost, 0, 0, 0, 0, keySize)
  quickHeader(limiter, FIRST_BYTE + keySize)
}

/** Begins a call with many. The list may change while it is read: as long as it was is what there is room for. */
function many(limiter, list) {
  const count = list.length
  begin(limiter, count)
  const began = turn
  beforeMethod = undefined
  beforePath = undefined
  let i = 0
  try {
    for (; i < count; i++) oneOf(i, list[i], began)
  } catch (error) {
    if (error instanceof RatelError) error.message = `requests[${i}]: ${error.message}`
    throw error
  }
}

function oneOf(i, asked, began) {
  check(asked)
  const { method, path, user, apiKey, ip, key, idempotencyId } = asked
  const rule = id(asked.rule)
  const cost = units(asked.cost, 'cost')
  const now = instant(asked.time)
  const attributes = attributeList(asked.attributes)
  if (turn !== began) throw invalid("a request's getters may not ask while many are read")
  if (attributes === undefined && idempotencyId === undefined && typeof cost === 'number') {
    if (buffer === usual && at <= USUAL - QUICK) {
      const to = quickOf(i, rule, cost, now, method, path, user, apiKey, ip, key)
      if (to >= 0) {
        beforeMethod = method
        beforePath = path
        at = to
        usual4[BYTES_END] = to
        return
      }
    }
  }
  beforeMethod = NEITHER
  beforePath = NEITHER
  write(i, rule, cost, now, method, path, user, apiKey, ip, key, attributes, idempotencyId)
}

/** The i-th of many: quick with what it shares with the one before. */
function quickOf(i, rule, cost, now, method, path, user, apiKey, ip, key) {
  let same = 0
  let methodSize = 0
  if (method === beforeMethod) same = SAME_METHOD
  else methodSize = quickly(method, at)
  if (methodSize < 0) return -1
  let pathSize = 0
  if (path === beforePath) same |= SAME_PATH
  else pathSize = quickly(path, at + methodSize)
  if (pathSize < 0) return -1
  return quick(i, at + methodSize + pathSize, same, methodSize, pathSize, rule, cost, now, user, apiKey, ip, key)
}

function write(i, rule, cost, now, method, path, user, apiKey, ip, key, attributes, idempotencyId) {
  const o4 = RECORD_4 + (RECORD / 4) * i
  const methodSize = put(method, 'method')
  const pathSize = put(path, 'path')
  const userSize = put(user, 'user')
  const apiKeySize = put(apiKey, 'apiKey')
  const ipSize = put(ip, 'ip')
  const keySize = put(key, 'key')
  const idSize = put(idempotencyId, 'idempotencyId')
  if (attributes !== undefined) putList(attributes, 'an attribute')
  const o8 = RECORD_8 + (RECORD / 8) * i
  f64[o8] = now
  u32[o4 + 14] = putUnits(o8 + 1, cost)
  u32[o4 + 4] = rule
  u32[o4 + 5] = attributes === undefined ? 0 : attributes.length / 2
  u32[o4 + 6] = methodSize
  u32[o4 + 7] = pathSize
  u32[o4 + 8] = userSize
  u32[o4 + 9] = apiKeySize
  u32[o4 + 10] = ipSize
  u32[o4 + 11] = keySize
  u32[o4 + 12] = idSize
  u32[o4 + 15] = 0
  u32[BYTES_END] = at
}

/** Where an HTTP request came from. */
function origin(peer, xForwardedFor, forwarded) {
  const sizes = sizesOf(1 + xForwardedFor.length + forwarded.length)
  putLine(sizes, peer)
  for (let i = 0; i < xForwardedFor.length; i++) putLine(sizes + 1 + i, xForwardedFor[i])
  for (let i = 0; i < forwarded.length; i++) putLine(sizes + 1 + xForwardedFor.length + i, forwarded[i])
  u32[X_FORWARDED_FOR_COUNT] = xForwardedFor.length
  u32[FORWARDED_COUNT] = forwarded.length
  u32[BYTES_END] = at
}

/** The decision that a call is about. */
function earlier(decision) {
  if (!(decision instanceof Decision)) throw invalid('decision: not one of a Limiter')
  u32[EARLIER_4] = bitsOf(decision)
  u32[EARLIER_4 + 1] = decision.rule
  u32[EARLIER_4 + 2] = decision.limitId
  u32[EARLIER_4 + 3] = decision.limitCount
  f64[EARLIER_8] = decision.generation
  u32[EARLIER_4] |= putUnits(EARLIER_8 + 1, decision.cost)
  f64[EARLIER_8 + 2] = decision.limit
  f64[EARLIER_8 + 3] = decision.capacity
  f64[EARLIER_8 + 4] = decision.remaining
  f64[EARLIER_8 + 5] = decision.timeUs
  f64[EARLIER_8 + 6] = decision.windowUs
  f64[EARLIER_8 + 7] = decision.retryAfterUs
  f64[EARLIER_8 + 8] = decision.resetAfterUs
  f64[EARLIER_8 + 9] = decision.delayUs
}

const flags = (value) => {
  u32[FLAGS] = value
}
const ticket = (value) => {
  u32[TICKET] = value
}
const number = (value) => {
  f64[NUMBER] = value
}

/** The status of the call, and of the i-th request. */
const status = () => i32[STATUS]
const statusAt = (i) => i32[RECORD_4 + (RECORD / 4) * i + 13]

const allowed = () => (u32[RECORD_4 + 16] & 1) === 1

function decision(i) {
  const o4 = RECORD_4 + (RECORD / 4) * i + 16
  const o8 = RECORD_8 + (RECORD / 8) * i + 10
  const answer = new Decision(u32[o4], u32[o4 + 1], u32[o4 + 2], u32[o4 + 3], f64, o8)
  if ((u32[o4] & WHOLE) !== 0) answer.cost = whole(o8 + 1)[0]
  return answer
}

const delayUs = () => f64[RECORD_8 + 19]
const told = () => f64[NUMBER]
const counter = (i) => f64[COUNTERS + i]
const fieldCount = () => i32[FIELD_COUNT]
const fieldName = (i) => u32[FIRST_FIELD + 3 * i]
const fieldValue = (i) => u32[FIRST_FIELD + 3 * i + 1]
const fieldSize = (i) => u32[FIRST_FIELD + 3 * i + 2]
const turnNow = () => turn

/** An answer that was awaited has come into the frame. */
function arrived() {
  turn++
}

/** A frame that holds the answers of so many requests. */
function hold(count) {
  at = RECORDS
  grow(RECORD * count)
}

module.exports = {
  begin,
  one,
  own,
  byRule,
  many,
  origin,
  earlier,
  flags,
  ticket,
  number,
  status,
  statusAt,
  allowed,
  delayUs,
  decision,
  told,
  counter,
  fieldCount,
  fieldName,
  fieldValue,
  fieldSize,
  turnNow,
  arrived,
  hold,
  id,
  word,
  units,
  instant,
  clocked
}
