import type { Caller } from '../../../src/identity/rights.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { Services } from '../../../src/services.ts'

/** What the parts of an undo share. */
export interface Undo {
  services: Services
  sql: Sql
  importId: string
  projectId: string
  caller: Caller
}
