import type { Services } from '../../../src/services.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { LargeFiles } from '../read/large-files.ts'
import type { Throttle } from '../../throttle.ts'
import type { RunningImport } from './import-row.ts'

/** The state that the steps of an import share. */
export interface Run {
  services: Services
  sql: Sql
  running: RunningImport
  throttle: Throttle
  largeFiles: LargeFiles
  /** The most rows that one command imports. */
  batchRows: number
}
