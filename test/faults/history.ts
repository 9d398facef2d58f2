import type { Entity } from '../../src/model/entities.ts'

export interface About {
  entity: Entity
  id: string
  /** Missing for tasks and their children: the log has their projects. */
  projectId?: string
  otherProjectId?: string
  taskId?: string
  userId?: string
}

export interface Request {
  kind: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  caller: { id: string; token: string }
  body?: Record<string, unknown>
  ifMatch?: string
  about: About
}

/** An attempt that ended without a final response: status 0 (no response), 429 or 503. */
export interface Failure {
  path: string
  web: number
  start: number
  end: number
  status: number
  reason: string
}

/** A request and its response. Times are from performance.now(), in milliseconds. */
export interface Operation extends Omit<Request, 'caller'> {
  callerId: string
  key: string
  start: number
  end: number
  status: number
  etag: string | null
  text: string
  replayed: boolean
  failures: Failure[]
}

export type Outcome = 'done' | 'rejected' | 'unknown'

export function outcomeOf({ status }: Pick<Operation, 'status'>): Outcome {
  if (status >= 200 && status < 300) return 'done'
  return status >= 400 && status < 500 ? 'rejected' : 'unknown'
}

/** The least share of operations with a response. A slower run compares too few responses with the log. */
const minKnownShare = 0.25

/** Returns how much a run proves: an operation without a response shows nothing but the event of its write. */
export function proofOf(operations: Pick<Operation, 'status'>[]) {
  const known = operations.filter((operation) => outcomeOf(operation) !== 'unknown').length
  const share = operations.length === 0 ? 0 : known / operations.length
  return { known, share, isEnough: share >= minKnownShare }
}

export const isWrite = ({ method }: Pick<Operation, 'method'>): boolean => method !== 'GET'

export const label = ({ kind, key, path, body }: Operation): string =>
  `${kind} ${key} ${path}${body ? ` ${JSON.stringify(body)}` : ''}`

export class History {
  readonly operations: Operation[] = []
  readonly invalidResponses: string[] = []
  /** Excludes attempts that a client with a short timeout gave up. */
  readonly failures: Failure[] = []
}

export interface Violation {
  check: string
  detail: string
}

export const violationsOf = (check: string, details: string[]): Violation[] =>
  details.map((detail) => ({ check, detail }))
