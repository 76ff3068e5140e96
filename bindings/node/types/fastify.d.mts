import { ratelFastify } from './fastify.js'

export * from './fastify.js'
export default ratelFastify
