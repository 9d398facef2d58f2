import { forFile, freshDatabase, isTransient, make, openDatabase, openScene } from '../kit.ts'
import { errorCode, openTestService, readConfig } from '../kit.ts'

const { service, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '200', WRITE_TIMEOUT_MS: '4000' })

async function whileBusy(pool: 'reads' | 'background', work: () => Promise<void>): Promise<void> {
  const { config, database } = service.services
  const count = pool === 'reads' ? config.readConnections : config.backgroundConnections
  const lock = database.commits.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`
    const sql = database[pool]
    const held = Array.from({ length: count }, () => sql`select pg_advisory_xact_lock_shared(1)`.execute())
    await work()
    return { held }
  })
  await Promise.all((await lock).held)
}

test('a sign-in does not wait for slow reads, and reads and writes do not wait for background queries', async () => {
  await whileBusy('reads', async () => {
    const { status } = await service.client.post('/auth/login', { email: ada.email, password: 'secret-1' })
    expect(status).toBe(200)
  })
  await whileBusy('background', async () => {
    const { id } = await make(ada, '/projects', { name: 'Meanwhile' })
    expect((await ada.get(`/projects/${id}`)).status).toBe(200)
  })
})

test('a query timeout in one pool cancels no statement of another pool', async () => {
  await using own = await openTestService({ BACKGROUND_TIMEOUT_MS: '200', COMMIT_TIMEOUT_MS: '3000' })
  const { background, commits } = own.services.database
  await commits`select`
  // After this time, the connection counts as silent, unless its next query restarts the time limit.
  await Bun.sleep(3_600)
  const waiting = Array.from({ length: 80 }, () => background`select pg_sleep(0.1)`.execute())
  const outcomes = Promise.allSettled(waiting)
  expect(await commits`select pg_sleep(1.3)`).toHaveLength(1)
  expect((await outcomes).some(({ status }) => status === 'rejected')).toBe(true)
})

const fresh = await forFile(freshDatabase())
const open = (more: Record<string, string>) =>
  forFile(openDatabase(readConfig({ DATABASE_URL: fresh.url, ...more })))

test('a query that fails, or whose connection is cut, while it returns rows does not affect the next query', async () => {
  // One connection, so that data left over from one query would reach the next query.
  const { reads: sql } = await open({ READ_CONNECTIONS: '1' })
  const numbers = async () =>
    (await sql<{ n: number }[]>`select n from generate_series(1, 5) n`).map(({ n }) => n)
  const failing = 'select 1 / (4 - n) from generate_series(1, 10) n'
  for (const work of [
    () => sql.unsafe(failing),
    () => sql`select 1 / (4 - n) from generate_series(1, 10) n`,
  ]) {
    const failed = work().catch(() => 'failed')
    const next = numbers()
    expect([await failed, await next]).toEqual(['failed', [1, 2, 3, 4, 5]])
  }
  const cut = sql`select n, case when n = 3000 then pg_terminate_backend(pg_backend_pid()) end
    from generate_series(1, 5000) n`
  expect(isTransient(await cut.catch((error: unknown) => error))).toBe(true)
  let found: number[] | undefined
  while (!found) found = await numbers().catch(() => undefined)
  expect(found).toEqual([1, 2, 3, 4, 5])
})

test.each(['reads', 'expensive'] as const)(
  'a statement of %s that takes too long is not repeated',
  async (pool) => {
    const [short, { background }] = [await open({ READ_TIMEOUT_MS: '2000' }), await open({})]
    const attempts = `attempts_${pool}`
    await background`create sequence ${background(attempts)}`
    const slow = short[pool]`select nextval(${attempts}::text::regclass), pg_sleep(60)`
    expect(errorCode(await slow.catch((error: unknown) => error))).toBe('57014')
    const [next] = await background<{ n: string }[]>`select nextval(${attempts}::text::regclass) as n`
    expect(Number(next!.n)).toBe(2)
  },
)
