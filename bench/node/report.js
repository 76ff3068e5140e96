// Rows of what was measured, what it was measured on, and how both are told.

const os = require('node:os')
const path = require('node:path')
const { readFileSync, writeFileSync } = require('node:fs')
const { engine } = require('ratel')

const { dependencies } = require('./package.json')

function versions() {
  const cpus = os.cpus()
  const told = {
    machine: `${cpus[0].model}, ${cpus.length} cores, ${os.type()} ${os.release()}`,
    date: new Date().toISOString().slice(0, 10),
    load_average_at_start: os.loadavg()[0],
    node: process.version,
    ratel: engine().version
  }
  for (const name of Object.keys(dependencies)) {
    if (name === 'ratel') continue
    const file = path.join(__dirname, 'node_modules', name, 'package.json')
    told[name] = JSON.parse(readFileSync(file, 'utf8')).version
  }
  return told
}

const sorted = (numbers) => [...numbers].sort((a, b) => a - b)
const median = (numbers) => sorted(numbers)[numbers.length >> 1]

/**
 * Nanoseconds of processor time that this process has used, collecting garbage on other threads included. What else runs
 * on the machine is not in it.
 */
function used() {
  const { user, system } = process.cpuUsage()
  return (user + system) * 1000
}

class Report {
  constructor(rounds) {
    this.versions = versions()
    this.rounds = rounds
    this.rows = []
    for (const [name, version] of Object.entries(this.versions)) console.log(name, version)
  }

  /** A row whose `ns` has a number of each round. */
  row(section, name, keys) {
    const row = { section, name, keys, threads: 1, ns: [] }
    this.rows.push(row)
    return row
  }

  /** A section's medians, the lowest in brackets. */
  print(section, keys) {
    console.log(`\n${section}, ${keys} keys`)
    for (const { name, ns } of this.rows.filter((row) => row.section === section && row.keys === keys)) {
      console.log(`  ${name.padEnd(32)} ${median(ns).toFixed(1).padStart(9)} ns (${sorted(ns)[0].toFixed(1)})`)
    }
  }

  write(file) {
    writeFileSync(file, `${JSON.stringify({ versions: this.versions, rounds: this.rounds, rows: this.rows })}\n`)
  }
}

module.exports = { Report, used }
