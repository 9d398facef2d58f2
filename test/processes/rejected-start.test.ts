import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { freePort } from '../../src/local/port.ts'
import { upTo } from '../races/pair.ts'
import { forFile, freshEnv, spawnService, testSecret } from '../support/service.ts'
import { emptyDatabase, readiness, run } from './launch.ts'

const { env } = await forFile(freshEnv())

// Which values are wrong, and how each is named: test/core/config.test.ts.
test.each(['start', 'web', 'worker', 'migrate'])(
  '%s refuses a wrong setting in one line',
  async (command) => {
    const { code, output } = await run(command, { ...env, PORT: 'http' })
    expect({ code, output }).toEqual({ code: 1, output: expect.stringMatching(/^PORT must be .*\n$/) })
  },
)

test('an unknown command is refused with those there are', async () => {
  const { code, output } = await run('serve', env)
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('start, web, worker, migrate'),
  })
})

test('production without a JWT_SECRET refuses to start and says why; with one it starts', async () => {
  const { JWT_SECRET: _, ...open }: Record<string, string> = { ...env, NODE_ENV: 'production' }
  for (const command of ['start', 'web', 'worker']) {
    const { code, output } = await run(command, open)
    expect(code).toBe(1)
    expect(output).toContain('JWT_SECRET must be set')
  }
  const web = await spawnService('web', { ...open, JWT_SECRET: testSecret })
  expect(await web.stop()).toBe(0)
})

test('several migrate at once on an empty database all succeed', async () => {
  const database = await emptyDatabase()
  const runs = await Promise.all(upTo(5).map(() => run('migrate', { ...env, DATABASE_URL: database.url })))
  expect(runs.map(({ code, output }) => ({ code, output }))).toEqual(
    runs.map(() => ({ code: 0, output: '' })),
  )
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

test('a web on an unmigrated database is alive and not ready, until it is migrated', async () => {
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

test('without Redis a web is ready and says that Redis is away; without Postgres it is not', async () => {
  const nowhere = `127.0.0.1:${await freePort()}`
  const lame = await spawnService('web', { ...env, REDIS_URL: `redis://${nowhere}` })
  expect(await readiness(lame.url)).toMatchObject({ status: 200, body: { postgres: 'ok', redis: 'away' } })
  expect(await lame.stop()).toBe(0)
  const lost = await spawnService('web', { ...env, DATABASE_URL: `postgres://${nowhere}/docket` })
  expect(await readiness(lost.url)).toMatchObject({ status: 503, body: { postgres: 'away' } })
  expect(await lost.stop()).toBe(0)
})
