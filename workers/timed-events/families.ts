import { type Family, gauge } from '../../src/metrics/family.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { oldestAge } from './find.ts'

const help = 'Time since the oldest reminder, due date or end of a claim that no event has recorded.'

export const timeFamilies = async (sql: Sql): Promise<Family[]> => [
  gauge('unrecorded_time_seconds', help, await oldestAge(sql)),
]
