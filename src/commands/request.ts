import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { Caller } from '../identity/rights.ts'
import type { Person, Whom } from '../reads/people.ts'
import type { Part } from './places.ts'

/** A command with its caller and conditions. Plain data. */
export interface CommandRequest {
  name: string
  input: object
  caller: Caller
  ifMatch?: string
  guard?: IdempotencyKey
  /** The caller's request as a place in a trace, where traces are made. */
  traceparent?: string
}

/** What a command has looked up once its caller is authorized: people, and the tasks that parts hang on. */
export interface Lookups {
  people: (Whom | undefined)[]
  parts: Part[]
  ownIds: string[]
}

/** What was found of it, in the same order; null for what there is not. */
export interface LookupResults {
  people: (Person | null)[]
  taskIds: (string | null)[]
  ownIds?: string[]
  /** Those of the own ids that something has, or had. */
  taken: string[]
}

/** A request with its project. Plain data: it can be sent to another process. */
export interface RoutedCommand extends CommandRequest {
  /** The id of the command's first event ends like this id, so another process can see whether the command is committed. */
  id: string
  /** The form of the command in the release that sent it: see registry.ts. */
  form: string
  again?: true
  projectId: string
  /** The task that the target hangs on. */
  taskId?: string
}
