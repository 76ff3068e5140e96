// Before `npm pack`: copies what the engine is built from into engine/, and the licence; afterwards (--clean) takes
// them away.

const { cpSync, rmSync, existsSync } = require('node:fs')
const path = require('node:path')

const root = path.join(__dirname, '..')
const repository = path.join(root, '..', '..')
const engine = path.join(root, 'engine')
const parts = ['CMakeLists.txt', 'VERSION', 'LICENSE', 'cmake', 'include', 'src', 'capi']
/** Not the READMEs, nor what the ABI's own tests compare with. */
const wanted = (file) => path.basename(file) !== 'README.md' && !/capi[\\/]abi[\\/](?!ratel\.map$)/.test(file)

rmSync(engine, { recursive: true, force: true })
rmSync(path.join(root, 'LICENSE'), { force: true })
if (!process.argv.includes('--clean')) {
  if (!existsSync(path.join(repository, 'capi'))) throw new Error('not in the repository: nothing to pack from')
  for (const part of parts) {
    cpSync(path.join(repository, part), path.join(engine, part), { recursive: true, filter: wanted })
  }
  cpSync(path.join(repository, 'LICENSE'), path.join(root, 'LICENSE'))
}
