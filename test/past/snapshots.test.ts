import { expectError, expectResponse, invite, make, openScene, register, words } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

const { client, sql, ada, bea } = await openScene(['Ada', 'Bea'], { AS_OF_EVENTS: '6' })

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

test('lists across projects reject asOf with 400', async () => {
  expectError(await ada.get('/tasks?asOf=1'), 400, /^asOf needs a projectId/)
  expectError(await ada.get('/projects?asOf=1'), 400, 'asOf is not known here')
  const { id } = (await open()).project
  expectError(await ada.get(`/projects/${id}/events?asOf=1`), 400, /^asOf is not known here/)
  expectError(await ada.get(`/projects/${id}?asof=1`), 400, 'asof is not known here; did you mean asOf?')
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

test('a snapshot shows the current names of people', async () => {
  const { id } = (await open()).project
  const before = await ada.get(`/projects/${id}?asOf=1`)
  await ada.patch('/auth/me', { name: 'Augusta' })
  const after = await ada.get(`/projects/${id}?asOf=1`)
  expect([before.body.owner.name, after.body.owner.name]).toEqual(['Ada', 'Augusta'])
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
})
