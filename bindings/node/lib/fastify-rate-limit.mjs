import module from './fastify-rate-limit.js'

export const { RatelStore, ratelStore } = module
export default RatelStore
