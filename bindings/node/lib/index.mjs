import module from './index.js'

export const { Limiter, Decision, RatelError, Headers, statusOf, version, engine } = module
