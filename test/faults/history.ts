/** An attempt that ended without a final response: status 0 (no response), 429 or 503. */
export interface Failure {
  web: number
  start: number
  end: number
  status: number
  reason: string
}

/** A request and its response. Times are from performance.now(), in milliseconds. */
export interface Operation {
  method: string
  path: string
  body?: Record<string, unknown>
  callerId: string
  key: string
  start: number
  /** Infinity if the client got no response. */
  end: number
  status: number
  etag: string | null
  text: string
  failures: Failure[]
}

export type Outcome = 'done' | 'rejected' | 'unknown'

export function outcomeOf({ status }: Pick<Operation, 'status'>): Outcome {
  if (status >= 200 && status < 300) return 'done'
  return status >= 400 && status < 500 ? 'rejected' : 'unknown'
}

export const isWrite = ({ method }: Pick<Operation, 'method'>): boolean => method !== 'GET'

export const label = ({ method, key, path, body }: Operation): string =>
  `${method} ${path} (${key})${body ? ` ${JSON.stringify(body).slice(0, 200)}` : ''}`

/** Returns the ids in a path: the last one is that of the requested row. */
export const idsIn = (path: string): string[] => path.match(/[\da-f]{8}-[\da-f-]{27}/g) ?? []

/** Returns the id of the event in an ETag, or undefined for an ETag of a list. */
export const eventIdIn = (etag: string | null): string | undefined => /^"([\da-f-]{36})/.exec(etag ?? '')?.[1]

/** The least share of operations with a response. A slower run compares too few responses with the log. */
const minKnownShare = 0.25

/** Describes how much a run proves: an operation without a response shows nothing but the event of its write. */
export function proofOf(operations: Pick<Operation, 'status'>[]) {
  const known = operations.filter((operation) => outcomeOf(operation) !== 'unknown').length
  const isEnough = known > 0 && known / operations.length >= minKnownShare
  const line = `${known} of ${operations.length} operations have a response that was compared with the log`
  return { isEnough, line: isEnough ? line : `${line}: TOO FEW, so this run proves nothing` }
}

export interface Violation {
  check: string
  detail: string
}

export const violationsOf = (check: string, details: string[]): Violation[] =>
  details.map((detail) => ({ check, detail }))
