// node --expose-gc main.js [--rounds 9] [--block 10] [--keys 1000000] [--only REGEXP] [--json FILE]: see README.md.

const { parseArgs } = require('node:util')
const { Report } = require('./report.js')
const { decide } = require('./decide.js')
const { micro } = require('./handler.js')
const { middleware } = require('./middleware.js')

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' }, // turns of each candidate
    block: { type: 'string', default: '10' }, // milliseconds of a turn
    keys: { type: 'string', default: '1000000' }, // most keys
    only: { type: 'string' }, // candidates whose names match
    json: { type: 'string' } // file to write the rows into
  }
})

async function main() {
  const options = {
    rounds: Number(values.rounds),
    block: Number(values.block),
    keys: Number(values.keys),
    only: values.only && new RegExp(values.only)
  }
  const report = new Report(options.rounds)
  await decide(report, options)
  await micro(report, options)
  await middleware(report, options)
  if (values.json) report.write(values.json)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
