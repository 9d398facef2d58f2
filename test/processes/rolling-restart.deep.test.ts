import { beforeEach, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { upTo } from '../races/pair.ts'
import { make, openClient, register } from '../support/client.ts'
import { freshEnv, openForEach } from '../support/service.ts'
import { patienceMs, spawnSeveral } from './supervised-service.ts'
import { askWithoutEnd, requestOf } from './strict-client.ts'

const forEach = openForEach()
let env: Record<string, string>
beforeEach(async () => void ({ env } = await forEach(freshEnv())))

test(
  'SIGHUP replaces one after another, and not one request fails under load',
  async () => {
    const several = await forEach(spawnSeveral('start', env))
    const before = several.pids()
    const ada = await register(openClient(several.url))
    const { id: projectId } = await make(ada, '/projects', { name: 'Rolled' })
    const { id } = await make(ada, '/tasks', { title: 'Read', projectId })
    const read = () => requestOf('GET', `/tasks/${id}`, ada.token!)
    const write = () => requestOf('POST', '/tasks', ada.token!, { title: 'Written', projectId })
    const { url } = several
    const clients = [true, false].flatMap((keepsAlive) =>
      upTo(2).flatMap(() => [read, write].map((request) => askWithoutEnd(url, request, keepsAlive))),
    )
    several.signal('SIGHUP')
    await several.said('rolling restart finished')
    await Promise.all(clients.map((client) => client.stop()))
    // Where the system does not let this user filter connections, the service says that clients may be reset.
    const mayReset = several.output.some((line) => line.includes('may have to reconnect'))
    if (mayReset) expect(process.getuid!()).not.toBe(0)
    const failures = clients.flatMap(({ failures }) => failures)
    expect(failures.filter((failure) => !mayReset || failure !== 'ECONNRESET')).toEqual([])
    for (const { answered } of clients) expect(answered).toBeGreaterThan(0)

    const after = several.pids()
    const all = [...before.web, ...before.worker, ...after.web, ...after.worker]
    expect([after.web.length, after.worker.length, new Set(all).size]).toEqual([2, 1, 6])
    const answered = clients.reduce((sum, { answered }, i) => sum + (i % 2) * answered, 0)
    expect(await written(projectId)).toBeWithin(answered, answered + failures.length + 1)
    expect(await several.stop()).toBe(0)
    await several.gone()
  },
  patienceMs,
)

test(
  'what does not come up replaces nobody: the others go on, and a later SIGHUP finds them',
  async () => {
    const BREAK_FILE = join(tmpdir(), `docket-broken-${crypto.randomUUID()}`)
    const several = await forEach(
      spawnSeveral('web', { ...env, BREAK_FILE }, ['--preload', `${import.meta.dir}/broken.ts`]),
    )
    const before = several.pids()
    await Bun.write(BREAK_FILE, '')
    several.signal('SIGHUP')
    await several.said('the new process did not start: keeping the current processes')
    expect((await fetch(`${several.url}/health/ready`)).status).toBe(200)
    await rm(BREAK_FILE)
    several.signal('SIGHUP')
    await several.said('rolling restart finished')
    expect(several.pids().web).not.toContain(before.web[0]!)
    expect(await several.stop()).toBe(0)
  },
  patienceMs,
)

async function written(projectId: string): Promise<number> {
  const sql = postgres(env.DATABASE_URL!, { max: 1 })
  const [row] =
    await sql`select count(*)::int as n from tasks where project_id = ${projectId} and title = 'Written'`
  await sql.end()
  return row!.n
}
