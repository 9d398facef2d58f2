import type { IdempotencyKey } from '../commit/idempotency.ts'
import type { Caller } from '../identity/rights.ts'
import type { Person, AccountKey } from '../reads/people.ts'
import type { IfClaim } from './if-claim.ts'
import type { ChildRef } from './row-locations.ts'

export interface CommandRequest {
  name: string
  input: object
  caller: Caller
  ifMatch?: string
  ifClaim?: IfClaim
  guard?: IdempotencyKey
  traceparent?: string
}

export interface Lookups {
  people: (AccountKey | undefined)[]
  children: ChildRef[]
  clientIds: string[]
}

/** The results in the order of the look-ups; null if nothing was found. */
export interface LookupResults {
  people: (Person | null)[]
  taskIds: (string | null)[]
  clientIds: string[]
  takenIds: string[]
}

/** A command with its project. Plain data, because it is sent between processes. */
export interface RoutedCommand extends CommandRequest {
  /** The id of the command's first event ends with the same digits, so that the log can be searched for the command. */
  id: string
  /** The digest of the command's input schema and scope: see registry.ts. */
  form: string
  /** The command was sent before, but the connection to its home was lost before the reply. */
  again?: true
  projectId: string
  taskId?: string
}
