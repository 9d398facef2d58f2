import { eventually, expectError, expectResponse, invite, make, openScene, register, words } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

const { service, client, sql, ada, bea } = await openScene(['Ada', 'Bea'], { AS_OF_EVENTS: '6' })

const versionOf = ({ headers }: Answer) => Number(headers.get('docket-version'))
const timeOf = async (projectId: string, seq: number): Promise<string> => {
  const [event] = await sql<{ at: string }[]>`
    select at from events where project_id = ${projectId} and seq = ${seq}`
  return encodeURIComponent(event!.at)
}
const taskIn = (projectId: string) => make(ada, '/tasks', { title: 'Wheels', projectId })
const reads = (project: Body, task: Body): [path: string, what: string][] => [
  ...['', '/members', '/labels', '/fields', '/views'].map((list): [string, string] => [
    `/projects/${project.id}${list}?`,
    'Project',
  ]),
  [`/tasks?projectId=${project.id}&`, 'Project'],
  ...['', '/subtasks', '/comments'].map((list): [string, string] => [`/tasks/${task.id}${list}?`, 'Task']),
]

/** A project with a task, events 1 and 2, which have different times, and the paths of the reads of both. */
async function open() {
  const project = await make(ada, '/projects', { name: 'Engine' })
  await Bun.sleep(2)
  const task = await taskIn(project.id)
  return { project, task, paths: reads(project, task) }
}

test('rejects an asOf that is ahead of the project, malformed or too many events back with 400', async () => {
  const { project, paths } = await open()
  for (let n = 0; n < 6; n++) await ada.patch(`/projects/${project.id}`, { name: `P${n}` })
  const ofFirst = await timeOf(project.id, 1)
  await Bun.sleep(2)
  for (const [path] of paths) {
    const ask = (when: string) => ada.get(`${path}asOf=${when}`)
    expectError(await ask('9'), 400, 'asOf is ahead of the project: it has no such version')
    expectError(await ask('999999999999999'), 400, /^asOf is ahead/)
    for (const wrong of ['', ...words('-1 1.5 now 2027-13-01 2027-01-01T10:00 7,8 %00'), '9'.repeat(16)])
      expectError(await ask(wrong), 400, /^asOf must be a version of the project, or an ISO 8601 date-time/)
    expectError(await ask('7&asOf=7'), 400, 'asOf is given more than once')
    expect([path, (await ask('2')).status]).toEqual([path, 200])
    for (const when of ['1', ofFirst]) expectError(await ask(when), 400, 'asOf must be at most 6 events back')
  }
})

test('returns 404 for a time before the resource was created, and the current state for a future time', async () => {
  const { project, paths } = await open()
  for (const [path, what] of paths) {
    for (const when of ['0', '2020-01-01', '0001-01-01'])
      expectError(await ada.get(`${path}asOf=${when}`), 404, `${what} not found`)
    for (const when of ['1', await timeOf(project.id, 1)]) {
      const answer = await ada.get(`${path}asOf=${when}`)
      if (what === 'Task') expectError(answer, 404, 'Task not found')
      else expect([path, answer.status, versionOf(answer)]).toEqual([path, 200, 1])
    }
  }
  expectResponse(await ada.get(`/tasks?projectId=${project.id}&asOf=1`), 200, [])
  for (const [path] of paths) {
    const [now, then] = [await ada.get(path), await ada.get(`${path}asOf=9999-12-31`)]
    expect([path, then.status, then.text, versionOf(then)]).toEqual([path, 200, now.text, 2])
  }
})

test('the current role of the caller, not an earlier role, allows or forbids reading a snapshot', async () => {
  const { project, paths } = await open()
  const member = await invite(ada, project.id, bea)
  for (const [path, what] of paths) {
    expectError(await (await register(client)).get(`${path}asOf=2`), 404, `${what} not found`)
    expectError(await client.get(`${path}asOf=2`), 401)
    expect([path, (await bea.get(`${path}asOf=2`)).status]).toEqual([path, 200])
  }
  await ada.delete(`/projects/${project.id}/members/${member.id}`)
  for (const [path, what] of paths) expectError(await bea.get(`${path}asOf=3`), 404, `${what} not found`)
  const before = await ada.get(`/projects/${project.id}/members?asOf=3`)
  expect(before.body).toMatchObject([{ id: member.id, user: { name: 'Bea' } }] as object)
  await ada.delete(`/projects/${project.id}`)
  for (const [path, what] of paths)
    for (const when of ['2', '2200-01-01'])
      expectError(await ada.get(`${path}asOf=${when}`), 404, `${what} not found`)
})

test('returns 410 if the events after the snapshot have expired', async () => {
  const { project, task: lost } = await open()
  await make(ada, `/tasks/${lost.id}/subtasks`, { title: 'Oil' })
  const task = await taskIn(project.id)
  await ada.delete(`/tasks/${lost.id}`)
  await sql`delete from events where project_id = ${project.id} and seq < 4`
  await sql`update projects set created_at = created_at - interval '2 minutes' where id = ${project.id}`
  const ago = (ms: number) => new Date(Date.parse(task.createdAt) - ms).toISOString()
  for (const [path] of reads(project, task)) {
    for (const when of ['1', '2', ago(1_000), ago(60_000)])
      expectError(await ada.get(`${path}asOf=${when}`), 410, 'Events before 4 are no longer kept')
    expectError(await ada.get(`${path}asOf=${ago(180_000)}`), 404)
    expect([path, (await ada.get(`${path}asOf=4`)).status]).toEqual([path, 200])
  }
  expectResponse(await ada.get(`/tasks/${lost.id}?asOf=4`), 200, lost)
  expectError(await ada.get(`/tasks/${lost.id}/subtasks?asOf=4`), 410, 'Events before 4 are no longer kept')
})

test('a snapshot has an ETag, and a single resource has the ETag that it had at that time', async () => {
  const { project, task, paths } = await open()
  const was = await Promise.all(paths.map(([path]) => ada.get(path)))
  await ada.patch(`/tasks/${task.id}`, { title: 'Cogs' })
  await ada.patch(`/projects/${project.id}`, { name: 'Other' })
  for (const [n, [path]] of paths.entries()) {
    const then = await ada.get(`${path}asOf=2`)
    const etag = then.headers.get('etag')!
    if (/^.[\w-]+.[\w-]+\?$/.test(path)) expect(etag).toBe(was[n]!.headers.get('etag')!)
    expect(etag).toMatch(/^"[^"]+"$/)
    expect(then.headers.get('cache-control')).toBe('private, no-cache')
    const again = await ada.get(`${path}asOf=2`, { 'if-none-match': etag })
    expect([path, again.status, again.text, versionOf(again)]).toEqual([path, 304, '', 2])
  }
})

async function openParts() {
  const { project, task } = await open()
  await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Oil' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Slow' })
  return { project, task }
}

// After this test, the workers keep running.
test('a snapshot shows a moved task, its subtasks and comments after the task and its first project are deleted', async () => {
  service.startWorkers()
  const { project, task } = await openParts()
  const { project: other } = await open()
  const { body } = await ada.patch(`/tasks/${task.id}`, { projectId: other.id })
  await Bun.sleep(2)
  const paths = ['', '/subtasks', '/comments'].map((list) => `/tasks/${task.id}${list}`)
  const before = await Promise.all(paths.map(async (path) => (await ada.get(path)).body))
  const checkSnapshot = async () => {
    for (const [n, path] of paths.entries())
      expectResponse(await ada.get(`${path}?asOf=${encodeURIComponent(body.updatedAt)}`), 200, before[n])
  }
  await checkSnapshot()
  await ada.delete(`/projects/${project.id}`)
  await ada.delete(`/tasks/${task.id}`)
  const left = () => sql`
    select project_id from streams where project_id = ${project.id}
    union all select task_id from subtasks where task_id = ${task.id}`
  await eventually('its rows to be purged', async () => (await left()).length === 0)
  await checkSnapshot()
})

test('a snapshot shows no task of another project that has the id of a deleted task', async () => {
  const { project, task } = await openParts()
  const at = encodeURIComponent(task.createdAt)
  await ada.delete(`/tasks/${task.id}`)
  const left = () => sql`select id from comments where task_id = ${task.id}`
  await eventually('its rows to be purged', async () => (await left()).length === 0)
  await Bun.sleep(2)
  const theirs = await make(bea, '/projects', { name: 'Theirs' })
  const { id } = await make(bea, '/tasks', { title: 'Theirs', projectId: theirs.id })
  await make(bea, `/tasks/${id}/comments`, { text: 'Theirs' })
  // Earlier releases accepted the id of a deleted row for a new row.
  await sql`update tasks set id = ${task.id} where id = ${id}`
  await sql`update comments set task_id = ${task.id} where task_id = ${id}`
  await sql`update events set task_id = ${task.id}, after = replace(after::text, ${id}, ${task.id})::jsonb,
    entity_id = case entity_id when ${id} then ${task.id} else entity_id end where task_id = ${id}`
  expectError(await ada.get(`/tasks/${task.id}?asOf=2`), 404, 'Task not found')
  expectResponse(await ada.get(`/tasks/${task.id}?asOf=${at}`), 200, task)
  expectError(await bea.get(`/tasks/${task.id}?asOf=${at}`), 404, 'Task not found')
  expectResponse(await ada.get(`/tasks?projectId=${project.id}&asOf=4`), 200, [task])
})
