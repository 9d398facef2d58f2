import type { Notes } from '../../../modules/imports/plan/notes.ts'
import type { ImportOperation } from '../../../modules/imports/rows/operations.ts'

export type Outcome = 'created' | 'updated' | 'unchanged' | 'rejected'

/** A row of the file, and the operation that imports it. Without an operation the outcome is already known. */
export interface Planned {
  n: number
  row: number | null
  externalId: string | null
  notes: Notes
  /** Names a row without an external id in messages, such as `label "bug"`. */
  name?: string
  operation?: ImportOperation
  outcome?: Outcome
}

export type Decided<P extends Planned = Planned> = P & { outcome: Outcome; id?: string }
