import postgres from 'postgres'
import { expiresAt, faultsOf, forFile, freshEnv, holdTransaction, isReplay, make } from '../kit.ts'
import { makeProjects, newId, openClient, openWebs } from '../kit.ts'
import type { Answer } from '../kit.ts'
import { openProxy } from './proxy.ts'

/** Opens a web process that reaches its database through a proxy. `sql` does not use the proxy. */
async function openBehindProxy(overrides: Record<string, string> = {}) {
  const { env } = await forFile(freshEnv(overrides))
  const proxy = await forFile(openProxy(env.DATABASE_URL!))
  const { webs, people, sql } = await openWebs([{ DATABASE_URL: proxy.url }], env)
  const [project, target] = (await makeProjects(people[0]!, 2)) as [string, string]
  return { proxy, sql, project, target, databaseUrl: env.DATABASE_URL!, web: webs[0]!, ada: people[0]! }
}
const patient = await openBehindProxy()
// The service cannot learn in time what became of a statement that the proxy holds.
const hasty = await openBehindProxy({
  WRITE_TIMEOUT_MS: '2000',
  COMMIT_TIMEOUT_MS: '4000',
  BACKGROUND_TIMEOUT_MS: '2000',
})
type Scene = typeof patient

/** A task with a subtask, both with this title. */
async function makeTask({ ada, project }: Scene, title = 'Before') {
  const path = `/tasks/${(await make(ada, '/tasks', { title, projectId: project })).id}`
  return { path, subtask: await make(ada, `${path}/subtasks`, { title }) }
}

type Send = (key?: Record<string, string>) => Promise<Answer>

/** Prepares a write: only its commit, and nothing else that is sent after the preparation, contains the mark. */
const writes: Record<string, (scene: Scene, mark: string) => Promise<Send>> = {
  'a create': async (scene, title) => (key) =>
    scene.ada.post('/tasks', { title, projectId: scene.project }, key),
  'a new project': async (scene, name) => (key) => scene.ada.post('/projects', { name }, key),
  'a toggle': async (scene, title) => {
    const { subtask } = await makeTask(scene, title)
    return (key) => scene.ada.patch(`/tasks/subtasks/${subtask.id}/toggle`, undefined, key)
  },
  'a move': async (scene, title) => {
    const { path } = await makeTask(scene)
    return (key) => scene.ada.patch(path, { title, projectId: scene.target }, key)
  },
  'a deletion': async (scene, title) => {
    const { path } = await makeTask(scene, title)
    return (key) => scene.ada.delete(path, key)
  },
  'a batch': async ({ ada, project }, title) => {
    const operations = [
      { op: 'task.create', as: 'new', title },
      { op: 'subtask.create', taskId: '#new', title: 'Step' },
      { op: 'task.update', id: '#new', status: 'DONE' },
    ]
    return (key) => ada.post(`/projects/${project}/batch?return=full`, { operations }, key)
  },
}

let marks = 0
const nextMark = () => `marked-${++marks}-`

/** Sends a write in a way that may lose messages, and expects the events and the status of a write without losses. */
async function expectOnce(
  scene: Scene,
  write: string,
  sendIn: (mark: string, send: Send) => Promise<Answer>,
): Promise<void> {
  const outcomeIn = async (way: typeof sendIn) => {
    const mark = nextMark()
    const { status } = await way(mark, await writes[write]!(scene, mark))
    const types = await scene.sql`
      select type from events where coalesce(after, before)::text like ${`%${mark}%`} order by id`
    return [status, ...types.map(({ type }) => type as string)]
  }
  const expected = await outcomeIn((_, send) => send())
  expect(await outcomeIn(sendIn)).toEqual(expected)
  expect(await faultsOf(scene.sql)).toEqual([])
}

const names = Object.keys(writes)

test.each(names)('%s whose commit response was lost is applied once, and succeeds', (write) =>
  expectOnce(patient, write, async (mark, send) => {
    const [answer] = await Promise.all([send(), patient.proxy.cutAnswer(mark)])
    if (write === 'a create' || write === 'a move')
      expect((await patient.ada.get(`/tasks/${answer.body.id}`)).body).toEqual(answer.body)
    return answer
  }),
)

test.each(names)(
  '%s whose commit did not reach Postgres is retried, and a late commit writes nothing',
  (write) =>
    expectOnce(patient, write, async (mark, send) => {
      const commit = patient.proxy.hold(mark)
      const answer = send()
      await commit.held
      commit.cut()
      await answer
      await make(patient.ada, '/tasks', { title: 'Between', projectId: patient.project })
      await commit.deliver()
      return answer
    }),
)

const unknown =
  'The outcome of the write is unknown: repeat the write with the same Idempotency-Key; without a key, read first whether it was written'
const outcomeOf = ({ status, body, headers }: Answer) => [status, body.message, headers.get('retry-after')]

test.each(names.filter((name) => !/toggle|deletion/.test(name)))(
  '%s whose commit was sent before the deadline has an unknown outcome',
  (write) =>
    expectOnce(hasty, write, async (mark, send) => {
      // The proxy holds the first request that contains the mark, so the key must not contain it.
      const key = { 'idempotency-key': newId() }
      const commit = hasty.proxy.hold(mark)
      const answer = send(key)
      await commit.held
      expect(outcomeOf(await answer)).toEqual([503, unknown, '1'])
      await commit.deliver()
      const repeated = await send(key)
      expect(isReplay(repeated)).toBe(true)
      return repeated
    }),
)

const signUp = (name: string, email: string) =>
  openClient(hasty.web.url).post('/auth/register', { name, email, password: 'secret-1' })

test.each<[string, (mark: string) => Promise<Answer>]>([
  ['a registration', (name) => signUp(name, `${name}@example.com`)],
  ['a new token', (name) => hasty.ada.post('/tokens', { name, scopes: ['read'], expiresAt })],
])('%s whose statement and its retry got no answer has an unknown outcome', async (_, write) => {
  const mark = nextMark()
  const first = hasty.proxy.hold(mark)
  const answer = write(mark)
  await first.held
  const retry = hasty.proxy.hold(mark)
  await retry.held
  expect(outcomeOf(await answer)).toEqual([503, unknown, '1'])
})

test('a registration that Postgres cancelled while it waited for a lock is not written, and not repeated', async () => {
  const mark = nextMark()
  const email = `${mark}@example.com`
  const other = await forFile(postgres(hasty.databaseUrl, { max: 1 }))
  const release = await holdTransaction(
    other,
    (tx) =>
      tx`insert into users (id, name, email, password_hash, created_at) values (${newId()}, 'First', ${email}, '', now())`,
  )
  const cancelled = 'The database took too long for a statement. Nothing was written'
  expect(outcomeOf(await signUp(mark, email))).toEqual([503, cancelled, '1'])
  await release()
  expect(await hasty.sql`select from users where name = ${mark}`).toHaveLength(0)
})

test('a second undo of a deletion returns 409, even if the task is deleted in another project during the undo', async () => {
  const { ada, proxy, sql } = patient
  const [here, there] = (await makeProjects(ada, 2)) as [string, string]
  const { id } = await make(ada, '/tasks', { title: 'Of old', projectId: here })
  await ada.delete(`/tasks/${id}`)
  const undo = (seq: number) => ada.post(`/projects/${here}/undo`, { seq })
  expect((await undo(3)).status).toBe(200)
  await ada.patch(`/tasks/${id}`, { title: 'Renewed' })
  expect((await ada.patch(`/tasks/${id}`, { projectId: there })).status).toBe(200)
  // If the undo were accepted, this would be its commit.
  const commit = proxy.hold('Of old')
  const undone = undo(3)
  const isHeld = await Promise.race([commit.held.then(() => true), undone.then(() => false)])
  expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
  if (isHeld) await commit.deliver()
  expect((await undone).status).toBe(409)
  expect((await ada.get(`/tasks/${id}`)).status).toBe(404)
  expect(await faultsOf(sql)).toEqual([])
})
