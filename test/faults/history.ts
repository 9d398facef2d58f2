import type { Entity } from '../../src/model/entities.ts'

export interface About {
  entity: Entity
  id: string
  /** Where it is asked for or made; of tasks and what hangs on them the history itself says where they were. */
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

/** A try that ended without an answer to keep: status 0 (no answer at all) or 503. */
export interface Failure {
  path: string
  web: number
  start: number
  end: number
  status: number
  reason: string
}

/** What was asked, when, and what came of it. Times are those of performance.now(). */
export interface Operation extends Omit<Request, 'caller'> {
  callerId: string
  key: string
  start: number
  end: number
  /** 0: the outcome is unknown to who asked. */
  status: number
  etag: string | null
  text: string
  replayed: boolean
  failures: Failure[]
}

export type Outcome = 'done' | 'refused' | 'unknown'

export function outcomeOf({ status }: Pick<Operation, 'status'>): Outcome {
  if (status >= 200 && status < 300) return 'done'
  return status >= 400 && status < 500 ? 'refused' : 'unknown'
}

export const isWrite = ({ method }: Pick<Operation, 'method'>): boolean => method !== 'GET'

export class History {
  readonly operations: Operation[] = []
  readonly flaws: string[] = []
  /** All that counts against the service: not those whose sender would not wait. */
  readonly failures: Failure[] = []
}

export interface Violation {
  check: string
  detail: string
}

export const broken = (check: string, details: string[]): Violation[] =>
  details.map((detail) => ({ check, detail }))
