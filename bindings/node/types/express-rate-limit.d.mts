import { RatelStore } from './express-rate-limit.js'

export * from './express-rate-limit.js'
export default RatelStore
