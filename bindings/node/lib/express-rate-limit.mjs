import module from './express-rate-limit.js'

export const { RatelStore } = module
export default RatelStore
