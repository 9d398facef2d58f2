import postgres from 'postgres'
import { forFile, freePort, freshEnv, spawnService, testSecret, upTo } from '../kit.ts'
import { emptyDatabase, readiness, run } from './launch.ts'

const { env } = await forFile(freshEnv())

// test/unit/config.test.ts tests each setting.
const commands = ['start', 'web', 'worker', 'migrate']
test.each(commands)('%s reports an invalid setting in one line', async (command) => {
  const output = expect.stringMatching(/^PORT must be .*\n$/)
  expect(await run(command, { ...env, PORT: 'http' })).toEqual({ code: 1, output })
})

test('rejects an unknown command, and lists the known commands', async () => {
  const output = expect.stringContaining('start, web, worker, migrate')
  expect(await run('serve', env)).toEqual({ code: 1, output })
})

test('production requires JWT_SECRET and REDIS_URL, except for migrate', async () => {
  const production: Record<string, string> = { ...env, NODE_ENV: 'production' }
  const { JWT_SECRET: _, REDIS_URL: __, ...incomplete } = production
  for (const command of ['start', 'web', 'worker']) {
    const { code, output } = await run(command, incomplete)
    expect(code).toBe(1)
    expect(output).toMatch(/JWT_SECRET must be set .*; REDIS_URL must be set/)
  }
  expect(await run('migrate', incomplete)).toEqual({ code: 0, output: '' })
  const web = await spawnService('web', { ...production, JWT_SECRET: testSecret })
  expect(await web.stop()).toBe(0)
})

test('several concurrent migrations of an empty database all succeed', async () => {
  const database = await emptyDatabase()
  const runs = await Promise.all(upTo(3).map(() => run('migrate', { ...env, DATABASE_URL: database.url })))
  for (const one of runs) expect(one).toEqual({ code: 0, output: '' })
  const sql = postgres(database.url, { max: 1 })
  const [migrated] =
    await sql`select count(*) = count(distinct hash) as once from drizzle.__drizzle_migrations`
  expect(migrated).toEqual({ once: true })
  await sql.end()
  const web = await spawnService('web', { ...env, DATABASE_URL: database.url })
  expect((await readiness(web.url)).status).toBe(200)
  expect(await web.stop()).toBe(0)
  await database.drop()
})

test('a web process is live but not ready until the database is migrated', async () => {
  const database = await emptyDatabase()
  const over = { ...env, DATABASE_URL: database.url }
  const web = await spawnService('web', over)
  expect((await fetch(`${web.url}/health/live`)).status).toBe(200)
  expect((await readiness(web.url)).status).toBe(503)
  expect((await run('migrate', over)).code).toBe(0)
  expect(await readiness(web.url)).toMatchObject({ status: 200, body: { postgres: 'ok' } })
  expect(await web.stop()).toBe(0)
  await database.drop()
})

test('a web process is ready without Redis, and not ready without Postgres', async () => {
  const nowhere = `127.0.0.1:${await freePort()}`
  const withoutRedis = await spawnService('web', { ...env, REDIS_URL: `redis://${nowhere}` })
  expect(await readiness(withoutRedis.url)).toMatchObject({
    status: 200,
    body: { postgres: 'ok', redis: 'away' },
  })
  expect(await withoutRedis.stop()).toBe(0)
  const withoutPostgres = await spawnService('web', { ...env, DATABASE_URL: `postgres://${nowhere}/docket` })
  expect(await readiness(withoutPostgres.url)).toMatchObject({ status: 503, body: { postgres: 'away' } })
  expect(await withoutPostgres.stop()).toBe(0)
})
