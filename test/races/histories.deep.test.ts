import { withConnections } from '../../drizzle/migrate.ts'
import { clockShiftedBy, forFile, freshDatabase } from '../kit.ts'
import { openPgBouncer } from '../support/pgbouncer.ts'
import { errorsAt, timeoutMs } from './histories.ts'

const hour = 3_600_000

// The service corrects each clock by the clock of the database.
test(
  'processes with clocks hours apart write ids and times in the order of the log',
  async () => {
    const each = [-2 * hour, 0, 2 * hour].map((ms) => clockShiftedBy(ms))
    expect(await errorsAt(each, { WRITE_SHARDS: '0' })).toEqual([])
  },
  timeoutMs,
)

test(
  'processes share few connections through PgBouncer in transaction mode, in another time zone',
  async () => {
    const { url } = await forFile(freshDatabase())
    await withConnections(url, (sql) =>
      sql.unsafe(`alter database "${new URL(url).pathname.slice(1)}" set timezone = 'Asia/Tokyo'`),
    )
    // Fewer connections than the processes open.
    const pooler = await forFile(openPgBouncer(url, 6))
    const shared = { DATABASE_URL: pooler.through(url), DATABASE_POOLER: 'on' }
    expect(await errorsAt([{}, {}], shared)).toEqual([])
  },
  timeoutMs,
)
