// Finds the add-on: one that was built here, else one that came with the package.

const path = require('node:path')

const root = path.join(__dirname, '..')
const places = [
  path.join(root, 'build', 'ratel.node'),
  path.join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'ratel.node')
]

function load() {
  for (const place of places) {
    try {
      return require(place)
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  throw new Error(
    `ratel: no add-on for ${process.platform}-${process.arch}. Build it: node ${path.join(root, 'scripts/build.js')}`
  )
}

module.exports = load()
