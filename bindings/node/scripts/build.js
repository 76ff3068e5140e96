// Builds the add-on into build/. As the package's install script (--unless-prebuilt) it does so only where no prebuilt
// one came along.
//
// The engine is what the environment variable RATEL_PREFIX or pkg-config names, else the sources in engine/ (they come
// with the package), else
// those of the repository around. Wants cmake, a C++20 compiler, and for the engine's sources libyaml and xxHash.

const { existsSync, mkdirSync, rmSync } = require('node:fs')
const { spawnSync } = require('node:child_process')
const os = require('node:os')
const path = require('node:path')

const root = path.join(__dirname, '..')
const build = path.join(root, 'build')
const packages = 'build-essential cmake pkg-config libyaml-dev libxxhash-dev libhiredis-dev libssl-dev'

function fail(message) {
  console.error(`ratel: ${message}`)
  process.exit(1)
}

function succeeds(command, ...given) {
  return spawnSync(command, given, { stdio: 'ignore' }).status === 0
}

function run(command, ...given) {
  const { status, error } = spawnSync(command, given, { stdio: 'inherit' })
  if (error) fail(`${command}: ${error.message}`)
  if (status !== 0) fail(`${command} failed. The build wants: ${packages} (names of Debian and Ubuntu)`)
}

function prebuilt() {
  const file = path.join(root, 'prebuilds', `${process.platform}-${process.arch}`, 'ratel.node')
  if (!existsSync(file)) return false
  try {
    require(file)
    return true
  } catch (error) {
    console.error(`ratel: the prebuilt add-on does not load here (${error.message}); building it`)
    return false
  }
}

/** Parts of the engine that are left out: RATEL_REDIS=OFF, RATEL_REDIS_TLS=OFF. */
const parts = ['RATEL_REDIS', 'RATEL_REDIS_TLS']
  .filter((name) => process.env[name])
  .map((name) => `-D${name}=${process.env[name]}`)

/** What tells cmake where the engine is. */
function engine() {
  if (process.env.RATEL_PREFIX) return [`-DRATEL_PREFIX=${process.env.RATEL_PREFIX}`]
  const packed = path.join(root, 'engine')
  if (existsSync(path.join(packed, 'CMakeLists.txt'))) return [`-DRATEL_ENGINE=${packed}`]
  if (succeeds('pkg-config', '--exists', 'ratel')) return []
  const repository = path.join(root, '..', '..')
  if (existsSync(path.join(repository, 'include', 'ratel', 'rl.h'))) return [`-DRATEL_ENGINE=${repository}`]
  return fail('no engine: set RATEL_PREFIX to where it is installed')
}

function checkTools() {
  if (!succeeds('cmake', '--version'))
    fail(`cmake is not installed. The build wants: ${packages} (names of Debian and Ubuntu)`)
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++']
  if (!compilers.some((name) => succeeds(name, '--version'))) fail(`no C++ compiler. The build wants: ${packages}`)
}

if (process.argv.includes('--unless-prebuilt') && prebuilt()) process.exit(0)
checkTools()
// A folder that was configured for another engine is begun anew.
rmSync(path.join(build, 'CMakeCache.txt'), { force: true })
mkdirSync(build, { recursive: true })
const headers = require('node-api-headers').include_dir
run(
  'cmake',
  '-S',
  root,
  '-B',
  build,
  `-DNODE_API_HEADERS=${headers}`,
  '-DCMAKE_BUILD_TYPE=Release',
  ...parts,
  ...engine()
)
run('cmake', '--build', build, '--parallel', process.env.RATEL_JOBS ?? String(os.cpus().length))
