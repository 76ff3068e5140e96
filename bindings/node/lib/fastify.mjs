import module from './fastify.js'

export const { ratelFastify, decisionOf } = module
export default ratelFastify
