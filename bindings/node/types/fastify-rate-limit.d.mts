import { RatelStore } from './fastify-rate-limit.js'

export * from './fastify-rate-limit.js'
export default RatelStore
