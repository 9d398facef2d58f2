import postgres from 'postgres'
import { migrate } from '../../drizzle/migrate.ts'
import { eventually, forFile, freshDatabase, holdTransaction } from '../kit.ts'

const fresh = await forFile(freshDatabase())
const sql: postgres.Sql = await forFile(postgres(fresh.url, { max: 3, prepare: false, onnotice: () => {} }))

test('a migration that waits for another migration has no open transaction, which would block index creation', async () => {
  const release = await holdTransaction(sql, (tx) => tx`select pg_advisory_xact_lock(${0x646f636b})`)
  const waiting = migrate(fresh.url)
  const transactionStarts = new Set<string>()
  await eventually('a second transaction of the waiting migration', async () => {
    const transactions = await sql<{ at: string }[]>`select xact_start::text as at from pg_stat_activity
      where datname = current_database() and xact_start is not null and query like '%pg_try_advisory_xact_lock%'
        and pid <> pg_backend_pid()`
    for (const { at } of transactions) transactionStarts.add(at)
    return transactionStarts.size > 1
  })
  await Promise.all([release(), waiting])
})
