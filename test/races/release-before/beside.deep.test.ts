import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrate } from '../../../drizzle/migrate.ts'
import { at, type Body, eventually, faultsOf, forFile, freshDatabase, freshEnv } from '../../kit.ts'
import { isReplay, make, newFolder, newId, openClient, openDatabase, Random, readConfig } from '../../kit.ts'
import { type Person, readFeed, register, spawnService, upTo, versionOf } from '../../kit.ts'

const { url: DATABASE_URL } = await forFile(freshDatabase('template0'))
const { env } = await forFile(freshEnv({ DATABASE_URL }))

/** The source of the release before, of commit 240b63a2, without the snapshots of its migrations. */
const archive = new URL('240b63a2.tar.gz', import.meta.url).pathname
const folder = await newFolder()
const run = (program: string, ...words: string[]) => {
  const { PATH = '', HOME = '' } = process.env
  return promisify(execFile)(program, words, { cwd: folder, env: { PATH, HOME, ...env } })
}
await run('tar', '-xzf', archive)
await run(process.execPath, 'install', '--frozen-lockfile', '--production', '--ignore-scripts')
const mainFile = join(folder, 'src/main.ts')
await run(process.execPath, '--no-env-file', mainFile, 'migrate')
const before = await forFile(spawnService('start', env, [], mainFile))
const ada = await register(openClient(before.url), 'Ada')
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
const tasks = `/tasks?projectId=${projectId}&limit=100`
for (const n of upTo(12)) await make(ada, '/tasks', { projectId, title: `Wheel ${n}` })
await migrate(DATABASE_URL)
const { reads: sql } = await forFile(Promise.resolve(openDatabase(readConfig(env))))
const after = await forFile(spawnService('start', env))
const both = [at(ada, before), at(ada, after)] as const
const random = new Random(11)

const eventsOf = (reader: Person) => readFeed(reader, `/projects/${projectId}/events?after=0`)

/** Returns the fields of listed tasks that both releases show. */
const shown = ({ body }: { body: unknown }) =>
  (body as Record<string, unknown>[]).map(({ id, title, status, priority, labelIds, dueDate }) => {
    return { id, title, status, priority, labelIds, dueDate }
  })

async function writeOnce(client: Person, n: number): Promise<void> {
  const listed = shown(await client.get(tasks))
  const { id } = random.pick(listed)!
  const one = `/tasks/${id as string}`
  const sent = await random.pick([
    () => client.post('/tasks', { projectId, title: `Cog ${n}` }),
    () => client.patch(one, { title: `Cog ${n}`, status: random.pick(['TODO', 'DONE']) }),
    () => client.post(`${one}/comments`, { text: `Oil ${n}` }),
    () => client.post(`${one}/subtasks`, { title: `Tooth ${n}` }),
    () => client.patch(one, { place: 'first' }),
    () => client.delete(one),
  ])!()
  // Another client may have deleted the task.
  expect([200, 201, 404]).toContain(sent.status)
}

test('the release before shows writes of this release at once, and this release those of the one before', async () => {
  for (const [writer, reader] of [both, [both[1], both[0]]] as const) {
    const { id } = await make(writer, '/tasks', { projectId, title: 'Shaft' })
    for (const n of upTo(20)) {
      await writer.patch(`/tasks/${id}`, { title: `Shaft ${n}` })
      expect((await reader.get(`/tasks/${id}`)).body).toMatchObject({ title: `Shaft ${n}` })
    }
    const version = await versionOf(reader, projectId)
    const poll = reader.get(`/projects/${projectId}/events?after=${version}&wait=25`)
    await writer.delete(`/tasks/${id}`)
    expect((await poll).body).toMatchObject([{ type: 'task.deleted', entityId: id }])
  }
})

test('a key that one release has used is replayed by the other', async () => {
  for (const [first, second] of [both, [both[1], both[0]]] as const) {
    const headers = { 'idempotency-key': newId() }
    const body = { projectId, title: 'Cam' }
    const made = await first.post('/tasks', body, headers)
    const again = await second.post('/tasks', body, headers)
    expect([made.status, again.status, isReplay(again)]).toEqual([201, 201, true])
    expect(again.body).toMatchObject({ id: made.body.id, title: 'Cam' })
    expect((await second.post('/tasks', { projectId, title: 'Rod' }, headers)).status).toBe(422)
  }
})

test('clients of both releases write one project without faults, and both show the same state, feed and search', async () => {
  await Promise.all(
    upTo(8).map(async (writer) => {
      for (const n of upTo(25)) await writeOnce(both[writer % 2]!, writer * 100 + n)
    }),
  )
  const [fromBefore, fromAfter] = await Promise.all(both.map(eventsOf))
  expect(fromAfter!.map(({ id }) => id)).toEqual(fromBefore!.map(({ id }) => id))
  expect(shown(await both[1].get(tasks))).toEqual(shown(await both[0].get(tasks)))
  expect(await faultsOf(sql)).toEqual([])
  for (const reader of both) {
    const { body } = await make(reader, '/tasks', { projectId, title: 'Flywheel of iron' }).then(() =>
      reader.get(`/search?projectId=${projectId}&q=flywheel`),
    )
    expect((body as never as Body[]).length).toBeGreaterThan(0)
  }
})

test('this release goes on when the release before has stopped', async () => {
  await before.stop()
  const client = both[1]
  await eventually(
    'a write',
    async () => (await client.post('/tasks', { projectId, title: 'Last' })).status === 201,
  )
  expect(await faultsOf(sql)).toEqual([])
})
