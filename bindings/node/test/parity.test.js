const assert = require('node:assert/strict')
const { readFileSync, readdirSync } = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')
const { version, engine, Headers, RatelError, Limiter } = require('..')

const root = path.join(__dirname, '../../..')
const read = (...parts) => readFileSync(path.join(root, ...parts), 'utf8')

/** What rl.h has and this binding does not call, with the reason. */
const leftOut = {
  rl_allow_async: 'answers that come later are taken from a queue, many in one turn of the event loop',
  rl_completion_queue_shutdown: 'the queue ends with the environment',
  rl_config_add_rule:
    'rules in code are the objects of a rule file, handed on as JSON: one grammar, one set of messages',
  rl_config_clear: 'a config lives for one new Limiter, reload or diff here',
  rl_rule_count: 'rules() is a list'
}

test('every function of rl.h is called, or left out with a reason', () => {
  const header = read('include/ratel/rl.h')
  const declared = [...header.matchAll(/^RL_API [^(]*?(rl_\w+)\(/gm)].map((match) => match[1])
  assert.ok(declared.length >= 50, `${declared.length} functions found in rl.h`)
  const folder = path.join(__dirname, '../src')
  const code = readdirSync(folder)
    .map((file) => readFileSync(path.join(folder, file), 'utf8'))
    .join('\n')
  for (const name of declared) {
    const called = new RegExp(`\\b${name}\\b`).test(code)
    assert.equal(called, !(name in leftOut), `${name}: called ${called}`)
  }
  for (const name of Object.keys(leftOut)) assert.ok(declared.includes(name), `${name} is not in rl.h`)
})

test('the version comes from one place', () => {
  const expected = read('VERSION').trim()
  assert.equal(version, expected)
  assert.equal(engine().version, expected)
  assert.equal(JSON.parse(read('bindings/node/package-lock.json')).version, expected)
})

test('the engine tells what it can do', () => {
  const { abi, features } = engine()
  assert.match(abi, /^1\.\d+$/)
  assert.ok(features.includes('memory') && features.includes('hostStorage'))
})

test('header flags are those of rl.h', () => {
  const header = read('include/ratel/rl.h')
  for (const [name, value] of Object.entries(Headers)) {
    const bit = header.match(new RegExp(`#define RL_HEADERS_${name} \\(1u << (\\d+)\\)`))
    assert.equal(value, 1 << Number(bit[1]), name)
  }
})

test('words of sources and reasons are those of rl.h, in its order', () => {
  const header = read('include/ratel/rl.h')
  const code = readFileSync(path.join(__dirname, '../lib/decision.js'), 'utf8')
  for (const [prefix, name] of [
    ['SOURCE', 'SOURCES'],
    ['REASON', 'REASONS']
  ]) {
    const words = [...header.matchAll(new RegExp(`#define RL_${prefix}_(\\w+) (\\d+)`, 'g'))].map(([, word]) =>
      word.toLowerCase()
    )
    const list = code.match(new RegExp(`const ${name} = (\\[.*\\])`))[1]
    assert.deepEqual(JSON.parse(list.replaceAll("'", '"')), words)
  }
})

test('what is exported is documented, in the guide and as types', () => {
  const guide = read('bindings/node/GUIDE.md')
  const types = read('bindings/node/types/index.d.ts')
  const names = Object.getOwnPropertyNames(Limiter.prototype).filter(
    (name) => name !== 'constructor' && !name.startsWith('_')
  )
  for (const name of [...names, ...Object.keys(require('..'))]) {
    assert.ok(new RegExp(`\\b${name}\\b`).test(types), `${name} has no type`)
    assert.ok(new RegExp(`\\b${name.replace(/Async$/, '')}\\b`).test(guide), `${name} is not in GUIDE.md`)
  }
})

test('ESM exports what CJS does', async () => {
  for (const name of ['index', 'express', 'fastify', 'express-rate-limit', 'fastify-rate-limit']) {
    const common = require(`../lib/${name}.js`)
    const module = await import(`../lib/${name}.mjs`)
    for (const key of Object.keys(module)) {
      if (key !== 'default') assert.equal(module[key], common[key], `${name}: ${key}`)
    }
    assert.ok(Object.keys(module).length > 0)
  }
  assert.equal((await import('../lib/index.mjs')).RatelError, RatelError)
})
