import { until } from '../kit.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Client } from '../support/client.ts'

/** Shorter than 30 s, after which an export ends if its client receives nothing. */
const disconnectMs = 20_000

/** Waits until the database has this many open transactions, because other transactions may end late. */
export async function expectTransactions(sql: Sql, count: number): Promise<void> {
  const isReached = async () => {
    const open = await sql`select from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and xact_start is not null
        and pid <> pg_backend_pid()`
    return open.length === count || undefined
  }
  expect(await until(isReached, disconnectMs, { everyMs: 10 })).toBe(true)
}

/** Returns the text of an export. @throws unless the status is 200 */
export async function exported(client: Client, projectId: string, parameters = ''): Promise<string> {
  const answer = await client.get(`/projects/${projectId}/export?${parameters}`)
  if (answer.status !== 200) throw new Error(`The export answered ${answer.status} ${answer.text}`)
  return answer.text
}

export const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Two exports of the same version differ only by the time of the export. */
export const withoutTime = (text: string): string => text.replace(/"exportedAt":"[^"]*"/, '')
