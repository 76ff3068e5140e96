const native = require('./native.js')

/**
 * Why a call failed: `code` is the engine's name of it, such as RL_E_CONFIG. Rule faults tell file, line, column and
 * path.
 */
class RatelError extends Error {
  constructor(code, message, place) {
    super(describe(code, message, place))
    this.code = code
    this.file = place?.file || undefined
    this.path = place?.path || undefined
    this.line = place?.line || undefined
    this.column = place?.column || undefined
    this.faults = []
  }
}
Object.defineProperty(RatelError.prototype, 'name', { value: 'RatelError', configurable: true, writable: true })

function describe(code, message, place) {
  let text = message || code
  if (place?.path) text = `${place.path}: ${text}`
  if (place?.file) {
    const at = place.line > 0 ? `:${place.line}:${place.column}` : ''
    text = `${place.file}${at}: ${text}`
  }
  return place?.faultCount > 1 ? `${text} (and ${place.faultCount - 1} more)` : text
}

const fromEngine = (told) => new RatelError(told.code, told.message, told)

/** The error of the last call that failed. */
const failure = () => fromEngine(native.failure())

/** All faults of the rule set under construction, in the first of them. */
function configFailure() {
  const error = failure()
  if (error.code !== 'RL_E_CONFIG') return error
  for (let i = 0; ; i++) {
    const fault = native.configFault(i)
    if (fault === undefined) return error
    error.faults.push(fromEngine({ ...fault, faultCount: 1 }))
  }
}

const ofStatus = (status) => new RatelError(native.statusName(status), '')
const invalid = (message) => new RatelError('RL_E_INVALID_ARGUMENT', message)
const cancelled = () => new RatelError('RL_E_CANCELLED', 'the limiter was closed before the answer came')
const closed = () => new RatelError('RL_E_STATE', 'the limiter is closed')
const unsupported = (message) => new RatelError('RL_E_UNSUPPORTED', message)

module.exports = { RatelError, fromEngine, failure, configFailure, ofStatus, invalid, cancelled, closed, unsupported }
