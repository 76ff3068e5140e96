import module from './express.js'

export const { rateLimit, decisionOf } = module
