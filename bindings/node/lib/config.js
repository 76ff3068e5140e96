// Options and rule sets, as they are handed to the engine. What a rule may say is the engine's to judge.

const native = require('./native.js')
const frame = require('./frame.js')
const { Host, addHost } = require('./host.js')
const { RatelError, failure, configFailure, invalid } = require('./errors.js')
const { shown, noName } = require('./names.js')

const SOURCE = ['file', 'text', 'rules', 'name']
const OPTIONS = [...SOURCE, 'clock', 'log', 'storage', 'redis', 'maxKeys', 'secret', 'region', 'readableKeys']
const DUTIES = ['apply', 'applyAsync', 'forget', 'sweep', 'count']

function check(status = frame.status()) {
  if (status !== 0) throw failure()
}

/** Bytes of a text: UTF-8, and nothing that UTF-8 cannot say. */
function bytesOf(value, name) {
  if (value instanceof Uint8Array) return value
  if (typeof value !== 'string') throw invalid(`${name} is ${shown(value)}: it has to be a string`)
  if (/\p{Surrogate}/u.test(value)) throw invalid(`${name} has half of a surrogate pair`)
  return new TextEncoder().encode(value)
}

function known(options, names, what) {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw invalid(`${what}: an object of options, not ${shown(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw invalid(noName(`${what}: no option`, name, names))
  }
}

/** A rule document, or the list of its rules, as the text that it would be in a file. */
function textOf(rules) {
  if (rules === null || typeof rules !== 'object') throw invalid('rules is a list of rules, or a whole rule document')
  try {
    return JSON.stringify(Array.isArray(rules) ? { version: 1, rules } : rules)
  } catch (error) {
    throw Object.assign(invalid(`rules: ${error.message}`), { cause: error })
  }
}

function load(source) {
  const given = ['file', 'text', 'rules'].filter((name) => source[name] !== undefined)
  if (given.length !== 1) throw invalid('rules come from one of file, text and rules')
  if (given[0] === 'file') {
    native.configFile(bytesOf(source.file, 'file'))
  } else {
    const text = given[0] === 'text' ? bytesOf(source.text, 'text') : bytesOf(textOf(source.rules), 'rules')
    native.configText(text, bytesOf(source.name ?? given[0], 'name'))
  }
  if (frame.status() !== 0) throw configFailure()
}

/** Runs `body` with a config that has this source's rules. */
function withRules(source, names, body) {
  known(source, names, 'the rules')
  frame.begin(0, 0)
  native.configBegin()
  try {
    check()
    load(source)
    return body()
  } finally {
    native.configEnd()
  }
}

function functionOf(value, name) {
  if (value !== undefined && typeof value !== 'function')
    throw invalid(`${name} is ${shown(value)}: it has to be a function`)
  return value
}

function hostOf({ clock, log, storage }) {
  functionOf(clock, 'clock')
  functionOf(log, 'log')
  if (storage !== undefined) {
    if (storage === null || typeof storage !== 'object') throw invalid('storage is an object with apply or applyAsync')
    for (const name of DUTIES) functionOf(storage[name], `storage.${name}`)
    if (!storage.apply && !storage.applyAsync) throw invalid('storage has neither apply nor applyAsync')
  }
  if (clock === undefined && log === undefined && storage === undefined) return undefined
  return new Host({ clock, log, storage })
}

function maxKeysOf(value) {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`maxKeys is ${shown(value)}: it has to be a whole number, 0 for what the rules say`)
  }
  return value
}

function settings(options, host) {
  const { storage, redis, maxKeys, secret, region } = options
  if ([storage, redis, maxKeys].filter((one) => one !== undefined).length > 1) {
    throw invalid('one of storage, redis and maxKeys (of the embedded store)')
  }
  if (maxKeys !== undefined) {
    native.configMemory(maxKeysOf(maxKeys))
    check()
  }
  if (redis !== undefined) {
    native.configRedis(bytesOf(redis, 'redis'))
    check()
  }
  if (secret !== undefined) {
    native.configSecret(bytesOf(secret, 'secret'))
    check()
  }
  if (region !== undefined) {
    native.configRegion(bytesOf(region, 'region'))
    check()
  }
  if (options.readableKeys) {
    native.configReadable()
    check()
  }
  if (host !== undefined) {
    const has = DUTIES.map((name) => storage?.[name] !== undefined)
    native.configHost(addHost(host), host.clock !== undefined, host.log !== undefined, ...has)
    check()
  }
}

/** The id of a new limiter in the add-on, and its host. */
function create(options) {
  known(options, OPTIONS, 'new Limiter')
  const host = hostOf(options)
  const id = withRules(options, OPTIONS, () => {
    settings(options, host)
    const made = native.create()
    if (frame.status() !== 0) throw configFailure()
    return made
  })
  return { id, host }
}

module.exports = { create, withRules, bytesOf, configFailure, SOURCE, RatelError }
