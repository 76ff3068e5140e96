const assert = require('node:assert/strict')
const { spawnSync } = require('node:child_process')
const { readdirSync, readFileSync } = require('node:fs')
const path = require('node:path')
const { test } = require('node:test')

const excluded = require('./excluded.json')
const suite = path.join(path.dirname(require.resolve('@fastify/rate-limit')), 'test')
const preload = path.join(__dirname, 'fastify-preload.js')
const elsewhere = 'redis-rate-limit.test.js'

/** The tests of a file, but for those that it skips itself. */
const namesIn = (file) =>
  [...readFileSync(path.join(suite, file), 'utf8').matchAll(/^test\((['"`])(.*?)\1,(?! \{ skip: true)/gm)].map(
    (match) => match[2]
  )
const escaped = (name) => name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')

/** Runs some tests of a file by their names. */
function run(file, names) {
  const pattern = `/^(${names.map(escaped).join('|')})$/`
  const given = ['--require', preload, '--test-reporter=tap', '--test-name-pattern', pattern, path.join(suite, file)]
  const { stdout, stderr } = spawnSync(process.execPath, given, {
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, NODE_TEST_CONTEXT: undefined }
  })
  const lines = stdout.split('\n').filter((line) => /^(not )?ok \d+ - /.test(line) && !/# SKIP/i.test(line))
  return {
    passed: lines.filter((line) => line.startsWith('ok')).length,
    failed: lines.filter((line) => line.startsWith('not')).length,
    text: stdout + stderr
  }
}

const files = [
  ...readdirSync(suite),
  ...readdirSync(path.join(suite, 'github-issues')).map((file) => `github-issues/${file}`)
].filter((file) => file.endsWith('.test.js') && file !== elsewhere)

test('there is a suite', () => {
  assert.ok(files.length >= 10, `${files.length} files`)
  for (const [file, names] of Object.entries(excluded)) {
    for (const name of Object.keys(names)) assert.ok(namesIn(file).includes(name), `${file} has no test «${name}»`)
  }
})

for (const file of files) {
  const left = Object.keys(excluded[file] ?? {})
  const names = namesIn(file).filter((name) => !left.includes(name))
  if (names.length > 0) {
    test(`@fastify/rate-limit's ${file}: ${names.length} tests`, () => {
      const { passed, failed, text } = run(file, names)
      assert.deepEqual([passed, failed], [names.length, 0], text)
    })
  }
  for (const name of left) {
    test(`${file}: «${name}» is left out for a reason (${excluded[file][name]})`, () => {
      const { passed, failed, text } = run(file, [name])
      assert.deepEqual([passed, failed], [0, 1], text)
    })
  }
}
