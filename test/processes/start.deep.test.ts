import { eventually, freshEnv, make, openClient, register, spawnService } from '../kit.ts'

test('start with DATABASE_URL and REDIS_URL serves requests and runs jobs', async () => {
  const { env, drop } = await freshEnv()
  const both = await spawnService('start', env)
  await createAndDelete(both.url)
  await expectPurged(env.DATABASE_URL!)
  expect(await both.stop()).toBe(0)
  await drop()
})

test('a web process serves requests, and a separate worker runs the jobs', async () => {
  const { env, drop } = await freshEnv()
  const web = await spawnService('web', env)
  await createAndDelete(web.url)
  expect(await countOf(env.DATABASE_URL!, 'streams')).toBe(1)
  const worker = await spawnService('worker', env)
  await expectPurged(env.DATABASE_URL!)
  expect(await web.stop()).toBe(0)
  expect(await worker.stop()).toBe(0)
  await drop()
})

async function createAndDelete(url: string): Promise<void> {
  const ada = await register(openClient(url))
  const { id: projectId } = await make(ada, '/projects', { name: 'Doomed' })
  await make(ada, '/tasks', { title: 'Doomed', projectId })
  await ada.delete(`/projects/${projectId}`)
}

const expectPurged = (databaseUrl: string) =>
  eventually('the deletion of all rows', async () => {
    const counts = ['tasks', 'events', 'streams', 'outbox'].map((table) => countOf(databaseUrl, table))
    return (await Promise.all(counts)).every((n) => n === 0)
  })

async function countOf(databaseUrl: string, table: string): Promise<number> {
  const sql = new Bun.SQL(databaseUrl, { max: 1 })
  const [row] = (await sql`select count(*)::int4 as n from ${sql(table)}`) as { n: number }[]
  await sql.close()
  return row!.n
}
