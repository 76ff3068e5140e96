/// <reference lib="esnext.disposable" />

/** Rate limiting with one exact engine. GUIDE.md tells the story; what rules may say is in the engine's docs. */

/** Text is sent as UTF-8. Half of a surrogate pair is an error; other bytes go in as an Uint8Array. */
export type Bytes = string | Uint8Array

/** Milliseconds since 1970, of which fractions count down to the microsecond, or nanoseconds. */
export type Instant = number | bigint

/** One request to decide on. What is not known stays out. */
export interface Request {
  method?: Bytes
  /** As it came: normalised inside. */
  path?: Bytes
  /** The authenticated user. */
  user?: Bytes
  apiKey?: Bytes
  /** The client's address, see `Limiter.clientIp`. */
  ip?: Bytes
  /** With `rule`: stands in for the value of every scope but global. */
  key?: Bytes
  /** An id from `Limiter.ruleId`; left out: found by method and path. */
  rule?: number
  /** Units to spend, at least 1; left out: what the rule says. */
  cost?: number | bigint
  /** Left out: the clock's. */
  time?: Instant
  /** A repeat with the same id, keys and cost is answered as before and charged once. Redis alone looks at it. */
  idempotencyId?: Bytes
  /** For `when` conditions and attribute scopes. */
  attributes?: Readonly<Record<string, Bytes>> | Iterable<readonly [Bytes, Bytes]>
}

export type Source =
  | 'exact'
  | 'leased'
  | 'cached_denial'
  | 'local_fallback'
  | 'fail_open'
  | 'fail_closed'
  | 'no_rule'
  | 'action'

export type Reason = 'none' | 'limited' | 'never_fits' | 'blocked' | 'store'

/** The answer. From `limit` on it describes the binding limit, and is 0 when no limit was asked. */
export class Decision {
  private constructor()
  readonly allowed: boolean
  /** How the answer was reached. */
  readonly source: Source
  /** Why it was denied; `none` when it was allowed. */
  readonly reason: Reason
  /** A shadow limit would have denied it. */
  readonly shadowDenied: boolean
  /** Nothing was spent: an answer of `peek`. */
  readonly peeked: boolean
  /** Id of the rule; 0: none. */
  readonly rule: number
  readonly limitId: number
  /** How many limits were asked. */
  readonly limitCount: number
  /** Of the rule set that answered. */
  readonly generation: number
  /** Units spent when allowed. A bigint above `Number.MAX_SAFE_INTEGER`. */
  readonly cost: number | bigint
  /** Units per window. */
  readonly limit: number
  /** Units one request is measured against: the burst, or the limit. */
  readonly capacity: number
  /** Whole units still to spend now, after this decision. */
  readonly remaining: number
  /** The instant it was decided at: exact microseconds since 1970. */
  readonly timeUs: number
  readonly windowUs: number
  /** Until the same request is admitted if nothing else comes; 0 when allowed, Infinity when waiting does not help. */
  readonly retryAfterUs: number
  /** Until the binding limit is as new. */
  readonly resetAfterUs: number
  /** leaky_bucket: how long to hold an admitted request back. */
  readonly delayUs: number
  get timeMs(): number
  get windowMs(): number
  /** Whole milliseconds, rounded up. */
  get retryAfterMs(): number
  get resetAfterMs(): number
  get delayMs(): number
}

export type ErrorCode =
  | 'RL_E_INVALID_ARGUMENT'
  | 'RL_E_NO_MEMORY'
  | 'RL_E_CONFIG'
  | 'RL_E_IO'
  | 'RL_E_NOT_FOUND'
  | 'RL_E_UNSUPPORTED'
  | 'RL_E_STORE'
  | 'RL_E_ABI'
  | 'RL_E_STATE'
  | 'RL_E_CANCELLED'
  | 'RL_E_INTERNAL'

/** Why a call failed; `cause` is what a callback threw during it. Rule faults tell their places. */
export class RatelError extends Error {
  private constructor()
  readonly code: ErrorCode
  readonly file?: string
  /** Where in the rule set, such as `rules[2].limits[0].window`. */
  readonly path?: string
  /** Counts from 1. */
  readonly line?: number
  /** Counts from 1, in bytes. */
  readonly column?: number
  /** All faults of the rule set, for RL_E_CONFIG. */
  readonly faults: readonly RatelError[]
}

/** One key of an operation. */
export interface Cell {
  /** The name of the state: printable ASCII. */
  readonly key: string
  /** Set by the storage before `step`: the bytes held under the key; undefined for none. */
  state: Uint8Array | null | undefined
  /** Set by `step`: hold `newState` from now on. */
  readonly write: boolean
  /** Set by `step`: the bytes to hold, the storage's own to keep; undefined: nothing any more. */
  readonly newState: Uint8Array | undefined
  /** Set by `step`: after so many microseconds the state equals none and may be dropped. */
  readonly ttlUs: number
  /** The same in whole milliseconds, rounded up. */
  readonly ttlMs: number
}

/** One decision (or settle, or peek) under way. Of no use once `apply` is done. */
export interface Op {
  readonly cells: Cell[]
  /**
   * The arithmetic: reads each cell's state, decides, and says in each cell what to write. Called again, the last call
   * counts.
   */
  step(): void
}

/**
 * Keeps the counts in a place of its own. The duty is: for all cells of an operation, as one indivisible act, set each
 * `state`, call
 * `op.step()`, and write what it asks for. Throwing means that the storage could not tell: the rule's on_store_error
 * decides then.
 */
export interface Duties {
  /** Drops what is held under a key. */
  forget?(key: string): unknown
  /** Drops what had expired at an instant, and says how many. */
  sweep?(cutoffUs: number): number | bigint | Promise<number | bigint>
  /** How many keys are held. */
  count?(): number | bigint | Promise<number | bigint>
}

/** Answers at once: for all methods. With an `applyAsync` beside it the Async methods use that one. */
export interface SyncStorage extends Duties {
  apply(op: Op): void
  applyAsync?(op: Op): Promise<void> | void
}

/** Answers later: for the methods whose names end in Async. */
export interface AsyncStorage extends Duties {
  apply?: undefined
  applyAsync(op: Op): Promise<void> | void
}

export type Storage = SyncStorage | AsyncStorage

/** Where rules come from: one of the three. */
export type RuleSource = (
  | { file: string; text?: undefined; rules?: undefined }
  | { text: string | Uint8Array; file?: undefined; rules?: undefined }
  | { rules: readonly object[] | object; file?: undefined; text?: undefined }
) & {
  /** What errors call a text. */
  name?: string
}

export type LogLevel = 'error' | 'warning' | 'info'

export type Options = RuleSource & {
  /** Tells the time in place of the engine's clock, at most once per request. */
  clock?: () => Instant
  /** Takes the engine's few messages: a failed reload, a failing store, an exception in a callback. */
  log?: (level: LogLevel, text: string) => void
  /** A storage of your own, in place of the embedded one. */
  storage?: Storage
  /** A Redis, Valkey, Cluster or Sentinel by URL, where the engine was built with it. */
  redis?: string
  /** Bounds the embedded store; 0 or left out: what the rules say. */
  maxKeys?: number
  /** What keys are hashed with, 16 to 1024 bytes: the same for every process that shares a store. */
  secret?: string | Uint8Array
  /** The region that this process is in: one of the rules' `regions`, whose share of every limit then counts here. */
  region?: string
  /** For tests: a storage sees key names that can be read, identities included. */
  readableKeys?: boolean
}

/** Counters since the limiter was made. */
export interface Metrics {
  requests: number
  allowed: number
  denied: number
  neverFits: number
  blocked: number
  shadowDenied: number
  noRule: number
  localFallback: number
  failOpen: number
  failClosed: number
  storeErrors: number
  unknownClient: number
  evictedLive: number
  evictedIdle: number
  /** Held now; 0 when the storage cannot tell. */
  keys: number
  reloads: number
  reloadFailures: number
  generation: number
  /** Of `allowed`: from units that were paid for in advance. */
  leased: number
  /** Of `denied`: the store was not asked again. */
  cachedDenial: number
  /** Units admitted while the store failed that it was charged for afterwards. */
  reportedBack: number
  /** Units admitted while the store failed that it could not be charged for. */
  unreported: number
}

export interface RuleMetrics {
  rule: number
  allowed: number
  denied: number
  neverFits: number
  shadowDenied: number
  costAllowed: number
}

export type TextFormat = 'text' | 'json'

/** A rule set in force, with its storage. One that is no longer reachable ends by itself. */
export class Limiter {
  /** Throws a RatelError for rules at fault, with all of `faults`. */
  constructor(options: Options)

  /** The whole question: find the rule, decide, and spend when allowed. For storages that answer at once. */
  allow(request: Request): Decision
  allowAsync(request: Request): Promise<Decision>

  /** `allow`, of which only the answer is wanted: no object is made. */
  isAllowed(request: Request): boolean
  /** The decision of the `isAllowed` that has just returned. */
  lastDecision(): Decision

  /** The short form for a rule that is known: `key` stands in for the value of every scope but global. */
  allowRule(rule: number, key: Bytes, cost?: number | bigint): Decision
  allowRuleAsync(rule: number, key: Bytes, cost?: number | bigint): Promise<Decision>

  /** Many questions at one instant, answered in order: a Decision each, or the error of a request that was refused. */
  allowMany(requests: readonly Request[]): (Decision | RatelError)[]
  allowManyAsync(requests: readonly Request[]): Promise<(Decision | RatelError)[]>

  /** What `allow` would answer now; nothing is spent, nothing is counted. */
  peek(request: Request): Decision
  peekAsync(request: Request): Promise<Decision>

  /**
   * After the work: `actual` units (0 or more) in place of those that `decision` spent. `request` as it was given to
   * `allow`, its time that of settling.
   */
  settle(request: Request, decision: Decision, actual: number): Decision
  settleAsync(request: Request, decision: Decision, actual: number): Promise<Decision>

  /** Forgets the state of every key that the request reaches. */
  reset(request: Request): void
  resetAsync(request: Request): Promise<void>

  /** Why the answer is what it is. Nothing is spent. */
  explain(request: Request, format?: TextFormat): string
  explainAsync(request: Request, format?: TextFormat): Promise<string>

  /** The header fields of a decision as lines "Name: value\r\n"; `flags` are of `Headers`. */
  headers(decision: Decision, flags?: number): string
  /** An RFC 9457 body (application/problem+json) for a denial. */
  problem(decision: Decision): string
  /**
   * The client behind trusted proxies: `peer` is the connection's address, the lists are all lines of the fields.
   * Empty when peer is no address.
   */
  clientIp(peer: Bytes, xForwardedFor?: readonly Bytes[], forwarded?: readonly Bytes[]): string

  metrics(): Metrics
  metricsAsync(): Promise<Metrics>
  ruleMetrics(rule: number): RuleMetrics
  /** All metrics in Prometheus' text format 0.0.4. */
  prometheus(): string
  prometheusAsync(): Promise<string>

  /** How many keys the storage holds. */
  keyCount(): number
  keyCountAsync(): Promise<number>
  /**
   * Drops every key whose state has been as new since `cutoff` (left out: now), and says how many. No decision changes
   * by it. The built-in storage also has the system put full parts of its table into huge pages, where that is allowed:
   * a large table is read faster then.
   */
  evictIdle(cutoff?: Instant): number
  evictIdleAsync(cutoff?: Instant): Promise<number>

  /** The ids of the rules in force, in the order in which they were loaded. */
  rules(): number[]
  /** The id of a rule in force by its name. */
  ruleId(name: Bytes): number
  /** The name of a rule, also of one that is no longer in force. Empty when unknown. */
  ruleName(rule: number): string
  limitName(limit: number): string
  /** The number of the rule set in force: 1 at first, one more with each reload. */
  get generation(): number

  /** Replaces the rules as a whole or, when they have faults, not at all. State survives. */
  reload(source: RuleSource): void
  /** Reads a file or folder now: a bad one keeps the old rules, is logged and counted. */
  reloadFile(path: string): void
  /**
   * Looks at a file or folder every so often (0 or left out: each second; at least 10) and reloads it when it has
   * changed. One at a time.
   */
  watch(path: string, intervalMs?: number): void
  /** Rules from a key of a Redis; see GUIDE.md. */
  watchRedis(url: string, key: Bytes, intervalMs?: number): void
  unwatch(): void
  /** What a reload with these rules would change. */
  diff(source: RuleSource, format?: TextFormat): string

  get closed(): boolean
  /**
   * Ends the limiter. A call that is being made is still answered; promises that wait for an answer are rejected with
   * RL_E_CANCELLED, and what their questions spend stays spent. Later calls fail with RL_E_STATE. Closing again does
   * nothing.
   */
  close(): void
  [Symbol.dispose](): void
}

/** Which header fields, to be joined by |; at most one of the drafts. 0 is what the rule set says. */
export const Headers: {
  readonly X: 1
  readonly RESET_DELTA: 2
  readonly RETRY_AFTER: 4
  readonly DRAFT_11: 8
  readonly DRAFT_8: 16
  readonly DRAFT_7: 32
  readonly DRAFT_6: 64
  readonly NONE: 128
}

/** The status that a denial is answered with: 429, 403 when it is blocked, 503 when the store failed. */
export function statusOf(decision: Decision): 429 | 403 | 503

/** This package's version, the same as the engine's that it was made with. */
export const version: string

/** The engine that was loaded. */
export function engine(): { version: string; abi: string; features: ('memory' | 'hostStorage' | 'redis' | 'tls')[] }
