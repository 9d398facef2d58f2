import type { Notes } from '../../../modules/imports/convert/notes.ts'
import type { ImportOperation, ImportResult } from '../../../modules/imports/command/operations.ts'

export type Outcome = ImportResult['outcome']

/** A row of the file, and the operation that imports it. Without an operation the outcome is already known. */
export interface PreparedRow {
  n: number
  row: number | null
  externalId: string | null
  notes: Notes
  /** The start of a rejection's message, such as `The label "bug"`. */
  subject?: string
  operation?: ImportOperation
  outcome?: Outcome
  /** The outcome in the report, if the operation imports only a part of the row. */
  rowOutcome?: Outcome
}

export type FinishedRow<P extends PreparedRow = PreparedRow> = P & { outcome: Outcome; id?: string }
