const os = require('node:os')
const path = require('node:path')
const { readFileSync } = require('node:fs')

const { dependencies } = require('./package.json')

/** What the numbers were taken on, and from. */
function printMachine() {
  const cpus = os.cpus()
  console.log(`${cpus[0].model}, ${cpus.length} cores, ${os.type()} ${os.release()}, Node.js ${process.version}`)
  const versions = Object.keys(dependencies).map((name) => {
    const file = path.join(__dirname, 'node_modules', name, 'package.json')
    return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`
  })
  console.log(`${versions.join(', ')}\n`)
}

const median = (numbers) =>
  numbers.toSorted?.((a, b) => a - b)[numbers.length >> 1] ?? numbers.sort((a, b) => a - b)[numbers.length >> 1]

module.exports = { printMachine, median }
