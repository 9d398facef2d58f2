// Runs in a copy of the project that has the field `reviewerId` and the child `work_log`: see copy.deep.test.ts.
import { connect } from '../mcp/scene.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { importInto } from '../exports/everything.ts'
import { runDocket } from '../cli/scene.ts'
import { ada, bea, carl, created, newProject, origin, refillIndex, rowsAt } from './scene.ts'
import { send, service, titles, undo } from './scene.ts'

const { id: projectId } = await created('/projects', { name: 'P' })
const log = { remark: 'Plan', hours: 1, kind: 'ONSITE' }
const file = async (id: string, format: string) =>
  (await ada.get(`/projects/${id}/export?format=${format}`)).text
const logs = (taskId: string) => rowsAt(`/tasks/${taskId}/work_logs`)
const remarks = async (taskId: string) =>
  ((await logs(taskId)) as unknown as (typeof log)[]).map(({ remark }) => remark)

test('files contain all values of a child with an author, and an import creates the same children once', async () => {
  const id = await newProject()
  const task = await created('/tasks', { projectId: id, title: 'f' })
  const details = { pages: [1, { of: '2\n  size: 4' }] }
  const ofBea = { workerId: bea.id, startedAt: '2030-01-01T10:00:00.000Z' }
  const empty = { workerId: null, startedAt: null, details: null }
  const all = [
    { remark: 'One\n\n  two\n  hours: 3', hours: 2.25, billable: false, kind: 'ONSITE', details, ...ofBea },
    { remark: '=1+1', hours: 1e-7, billable: true, kind: 'REMOTE', ...empty },
    { remark: '=1+1', hours: 3, billable: true, kind: 'REMOTE', ...empty },
  ]
  for (const [n, author] of [ada, bea, bea].entries())
    expect((await author.post(`/tasks/${task.id}/work_logs`, all[n])).status).toBe(201)
  const [shown] = (await file(id, 'ndjson')).trim().split('\n')
  expect(JSON.parse(shown!)).toMatchObject({ work_logs: all })
  for (const format of ['docket', 'csv']) {
    const text = await file(id, format)
    const otherId = await newProject()
    const authors = [null, 'Bea', 'Bea'].map((importedAuthor) => ({ importedAuthor }))
    for (const counts of [{ created: 1 }, { unchanged: 1 }]) {
      const report = await importInto(ada, otherId, text, `source=${format}`)
      expect(report.counts).toMatchObject({ ...counts, rejected: 0 })
      const [copy] = await rowsAt(`/tasks?projectId=${otherId}`)
      const rows = all.map((one, n) => ({ ...one, ...authors[n] }))
      expect({ format, rows: await logs(copy!.id) }).toMatchObject({ format, rows })
    }
    const { counts } = await importInto(ada, id, text, `source=${format}`)
    expect(counts).toMatchObject({ unchanged: 1, rejected: 0 })
    // Its own project has the children already. Changed values are restored.
    for (const { id } of await logs(task.id)) await ada.patch(`/tasks/work_logs/${id}`, { hours: 7 })
    expect((await importInto(ada, id, text, `source=${format}`)).counts.updated).toBe(1)
    expect(await logs(task.id)).toMatchObject(all)
  }
}, 60_000)

test('an invalid value of a child is rejected, and an import rejects only this child', async () => {
  const { id } = await created('/projects', { name: 'P' })
  const task = await created('/tasks', { projectId: id, title: 'f' })
  const whole = { ...log, workerId: ada.id, startedAt: '2030-01-01' }
  for (const remark of ['One', 'Two']) await created(`/tasks/${task.id}/work_logs`, { ...whole, remark })
  const invalid = await ada.post(`/tasks/${task.id}/work_logs`, { ...whole, workerId: 'nobody' })
  expect([invalid.status, invalid.body.message]).toEqual([400, 'workerId must be an id'])
  for (const format of ['docket', 'csv'])
    for (const lastValue of [/(workerId\W+)\S{36}(?!.*workerId)/s, /(startedAt\W+)\S{24}(?!.*startedAt)/s]) {
      const { id: otherId } = await created('/projects', { name: 'Q' })
      const text = (await file(id, format)).replace(lastValue, '$1nobody')
      await importInto(ada, otherId, text, `source=${format}`)
      const [copy] = await rowsAt(`/tasks?projectId=${otherId}`)
      expect(await remarks(copy!.id)).toEqual(['One'])
    }
}, 60_000)

test('a search finds the text of a new child, also after a move, an undo and a fill; agents see the child', async () => {
  const [from, to] = [await created('/projects', { name: 'S' }), await created('/projects', { name: 'T' })]
  const task = await created('/tasks', { projectId: from.id, title: 'k' })
  const { id } = await created(`/tasks/${task.id}/work_logs`, { ...log, remark: 'Quokka' })
  const found = async (q: string, project = from.id) =>
    titles(await rowsAt(`/tasks?projectId=${project}&q=${q}`))
  expect(await found('quokka')).toBe('k')
  await ada.patch(`/tasks/work_logs/${id}`, { remark: 'Wombat' })
  expect([await found('quokka'), await found('wombat')]).toEqual(['', 'k'])
  await ada.patch(`/tasks/${task.id}`, { projectId: to.id })
  expect([await found('wombat'), await found('wombat', to.id)]).toEqual(['', 'k'])
  await ada.delete(`/tasks/${task.id}`)
  expect(await found('wombat', to.id)).toBe('')
  await undo(to.id, 3)
  expect(await found('wombat', to.id)).toBe('k')
  await refillIndex(to.id)
  expect(await found('wombat', to.id)).toBe('k')
  const { call } = await connect(service, ada.token)
  expect((await call('get', { id: task.id })).body).toMatchObject({ work_logs: [{ remark: 'Wombat' }] })
})

test('the client has the methods of a new child, and does not mirror it', async () => {
  const docket = new Docket({ url: origin, token: ada.token!, fetch: send })
  const task = await docket.tasks.create({ projectId, title: 'i' })
  const { work_logs: workLogs } = docket as never as Record<'work_logs', Docket['subtasks']>
  const { id } = await workLogs.create({ taskId: task.id, ...log } as never)
  await workLogs.update(id, { remark: 'Sketch' } as never)
  expect(await remarks(task.id)).toEqual(['Sketch'])
  const stop = new AbortController()
  const other = await docket.projects.create({ name: 'R' })
  const mirror = docket.project(other.id).mirror({ signal: stop.signal })
  await mirror.ready
  await docket.tasks.update(task.id, { projectId: other.id })
  await mirror.reach((await docket.tasks.list({ projectId: other.id }).page()).version!)
  expect(mirror.get(task.id)).toEqual(await docket.tasks.get(task.id))
  expect(await remarks(task.id)).toEqual(['Sketch'])
  stop.abort()
})

test('a field with a user must name a member, is filtered by me for each caller and by name', async () => {
  const id = await newProject([bea])
  const message = 'reviewerId must be the owner or a member of the project'
  const refused = await ada.post('/tasks', { projectId: id, title: 'x', reviewerId: carl.id })
  expect([refused.status, refused.body.message]).toEqual([400, message])
  const task = await created('/tasks', { projectId: id, title: 'k', reviewerId: bea.id })
  const path = `/tasks?projectId=${id}&reviewerId=me`
  for (const _ of [1, 2])
    for (const [by, shown] of [
      [bea, 'k'],
      [ada, ''],
    ] as const)
      expect(titles((await by.get(path)).body)).toBe(shown)
  const { call } = await connect(service, ada.token)
  const { body } = await call<{ tasks: object[] }>('find', { project: id, reviewerId: 'Bea' })
  expect(body.tasks).toMatchObject([{ title: 'k' }])
  expect(await file(id, 'docket')).toContain(`"reviewer":{"id":"${bea.id}","name":"Bea"`)
  const env = { DOCKET_URL: origin, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id, HOME: '/nonexistent' }
  const { out } = await runDocket(['tasks', '--reviewer', 'Bea'], { fetch: send, env })
  expect(out).toMatch(/REVIEWER.*\n.*Bea/)
  await ada.patch(`/tasks/${task.id}`, { projectId })
  expect((await ada.get(`/tasks/${task.id}`)).body).toMatchObject({ reviewerId: null })
})
