// Runs in a copy of the project that has the field `reviewerId` and the child `link`: see copy.deep.test.ts.
import { connect } from '../mcp/mcp-client.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { fillStart } from '../../modules/search/documents.ts'
import { importInto } from '../exports/everything.ts'
import { runDocket } from '../cli/scene.ts'
import { invite, register } from '../support/client.ts'
import { ada, created, rowsAt, service, sql, undo } from './scene.ts'

const { id: projectId } = await created('/projects', { name: 'P' })
const url = 'https://example.com'
const titles = (tasks: { title?: unknown }[]) => tasks.map(({ title }) => title).join('')
const file = async (id: string, format: string) =>
  (await ada.get(`/projects/${id}/export?format=${format}`)).text
const links = async (taskId: string) => {
  const rows = (await rowsAt(`/tasks/${taskId}/links`)) as unknown as Record<'title' | 'url', string>[]
  return rows.map(({ title, url }) => ({ title, url }))
}

test('files contain a new child, and an import creates the same children once', async () => {
  const { id } = await created('/projects', { name: 'P' })
  const task = await created('/tasks', { projectId: id, title: 'f' })
  const all = [
    { title: '=Plan', url },
    { title: 'Sketch: "two"', url: `${url}/?a=1,2` },
    { title: 'Sketch: "two"', url },
  ]
  for (const link of all) await created(`/tasks/${task.id}/links`, link)
  const files = [
    { name: '-Plan', size: 3, details: { pages: [1, { of: '2\n  size: 4' }] } },
    { name: '3', size: 0, details: null },
  ]
  for (const one of files) await created(`/tasks/${task.id}/attachments`, one)
  const [shown] = (await file(id, 'ndjson')).trim().split('\n')
  expect(JSON.parse(shown!)).toMatchObject({ links: all })
  for (const format of ['docket', 'csv']) {
    const text = await file(id, format)
    const { id: otherId } = await created('/projects', { name: 'Q' })
    for (const counts of [{ created: 1 }, { unchanged: 1 }]) {
      expect((await importInto(ada, otherId, text, `source=${format}`)).counts).toMatchObject(counts)
      const [copy] = await rowsAt(`/tasks?projectId=${otherId}`)
      expect({ format, links: await links(copy!.id) }).toEqual({ format, links: all })
      expect(await rowsAt(`/tasks/${copy!.id}/attachments`)).toMatchObject(files)
    }
    // Its own project has the children already. A changed value is restored.
    const [first] = await rowsAt(`/tasks/${task.id}/links`)
    await ada.patch(`/tasks/links/${first!.id}`, { url: 'changed' })
    expect((await importInto(ada, id, text, `source=${format}`)).counts).toMatchObject({ updated: 1 })
    expect(await links(task.id)).toEqual(all)
  }
}, 60_000)

test('files contain all values of a child with an author, and an import creates the same children once', async () => {
  const bea = await register(service.client, 'Bea')
  const newProject = async () => {
    const { id } = await created('/projects', { name: 'P' })
    await invite(ada, id, bea, 'EDITOR')
    return id
  }
  const id = await newProject()
  const task = await created('/tasks', { projectId: id, title: 'f' })
  const times = { startedAt: '2030-01-01T10:00:00.000Z' }
  const all = [
    {
      remark: 'One\n\n  two\n  hours: 3',
      hours: 2.25,
      billable: false,
      kind: 'ONSITE',
      workerId: bea.id,
      ...times,
    },
    { remark: '=1+1', hours: 1e-7, billable: true, kind: 'REMOTE', workerId: null, startedAt: null },
  ]
  for (const [n, author] of [ada, bea].entries())
    expect((await author.post(`/tasks/${task.id}/work_logs`, all[n])).status).toBe(201)
  for (const format of ['docket', 'csv']) {
    const text = await file(id, format)
    const otherId = await newProject()
    for (const counts of [
      { created: 1, rejected: 0 },
      { unchanged: 1, rejected: 0 },
    ]) {
      expect((await importInto(ada, otherId, text, `source=${format}`)).counts).toMatchObject(counts)
      const [copy] = await rowsAt(`/tasks?projectId=${otherId}`)
      const authors = [{ importedAuthor: null }, { importedAuthor: 'Bea' }]
      const logs = { format, rows: await rowsAt(`/tasks/${copy!.id}/work_logs`) }
      expect(logs).toMatchObject({ format, rows: all.map((one, n) => ({ ...one, ...authors[n] })) })
    }
    const { counts } = await importInto(ada, id, text, `source=${format}`)
    expect(counts).toMatchObject({ unchanged: 1, rejected: 0 })
    // Its own project has the children already. Changed values are restored, also those that the file has empty.
    for (const { id } of await rowsAt(`/tasks/${task.id}/work_logs`))
      await ada.patch(`/tasks/work_logs/${id}`, { hours: 7, workerId: ada.id, startedAt: '2029-01-01' })
    expect((await importInto(ada, id, text, `source=${format}`)).counts.updated).toBe(1)
    expect(await rowsAt(`/tasks/${task.id}/work_logs`)).toMatchObject(all)
  }
}, 60_000)

test('an invalid value of a child is rejected, and an import rejects only this child', async () => {
  const { id } = await created('/projects', { name: 'P' })
  const task = await created('/tasks', { projectId: id, title: 'f' })
  const log = { remark: 'One', hours: 1, kind: 'ONSITE', workerId: ada.id, startedAt: '2030-01-01' }
  for (const remark of ['One', 'Two']) await created(`/tasks/${task.id}/work_logs`, { ...log, remark })
  const invalid = await ada.post(`/tasks/${task.id}/work_logs`, { ...log, workerId: 'nobody' })
  expect([invalid.status, invalid.body.message]).toEqual([400, 'workerId must be an id'])
  for (const format of ['docket', 'csv'])
    for (const lastValue of [/(workerId\W+)\S{36}(?!.*workerId)/s, /(startedAt\W+)\S{24}(?!.*startedAt)/s]) {
      const { id: otherId } = await created('/projects', { name: 'Q' })
      const text = (await file(id, format)).replace(lastValue, '$1nobody')
      await importInto(ada, otherId, text, `source=${format}`)
      const [copy] = await rowsAt(`/tasks?projectId=${otherId}`)
      expect(await rowsAt(`/tasks/${copy!.id}/work_logs`)).toMatchObject([{ remark: 'One' } as object])
    }
}, 60_000)

test('the tools of agents show a new child', async () => {
  const { call } = await connect(service, ada.token)
  const task = await created('/tasks', { projectId, title: 'g' })
  await created(`/tasks/${task.id}/links`, { title: 'Plan', url })
  const { body } = await call('get', { id: task.id })
  expect(body).toMatchObject({ links: [{ title: 'Plan', url }] })
})

test('a new child moves with its task', async () => {
  const { id } = await created('/tasks', { projectId, title: 'h' })
  await created(`/tasks/${id}/links`, { title: 'Plan', url })
  await ada.patch(`/tasks/${id}`, { projectId: (await created('/projects', { name: 'Q' })).id })
  expect(await links(id)).toEqual([{ title: 'Plan', url }])
})

test('a search of tasks finds the text of a new child, also after a move, an undo and a fill of the index', async () => {
  const [from, to] = [await created('/projects', { name: 'S' }), await created('/projects', { name: 'T' })]
  const task = await created('/tasks', { projectId: from.id, title: 'k' })
  const link = await created(`/tasks/${task.id}/links`, { title: 'Quokka', url: 'https://example.com' })
  const found = async (q: string, project = from.id) =>
    titles(await rowsAt(`/tasks?projectId=${project}&q=${q}`))
  expect(await found('quokka')).toBe('k')
  await ada.patch(`/tasks/links/${link.id}`, { title: 'Wombat' })
  expect([await found('quokka'), await found('wombat')]).toEqual(['', 'k'])
  await ada.patch(`/tasks/${task.id}`, { projectId: to.id })
  expect([await found('wombat'), await found('wombat', to.id)]).toEqual(['', 'k'])
  await ada.delete(`/tasks/${task.id}`)
  expect(await found('wombat', to.id)).toBe('')
  await undo(to.id, 3)
  expect(await found('wombat', to.id)).toBe('k')
  await sql`update search_cursors set fill = ${sql.json({ ...fillStart })} where project_id = ${to.id}`
  await sql`update search_documents set doc = '' where project_id = ${to.id}`
  expect(await found('wombat', to.id)).toBe('k')
})

const origin = 'http://localhost'
const send = (url: string, init?: RequestInit) => service.fetch(url.slice(origin.length), init)

test('the client has the methods of a new child, and does not mirror it', async () => {
  const docket = new Docket({ url: origin, token: ada.token!, fetch: send })
  const task = await docket.tasks.create({ projectId, title: 'i' })
  const { links } = docket as never as Record<'links', Docket['subtasks']>
  const link = await links.create({ taskId: task.id, title: 'Plan', ...{ url: 'https://example.com' } })
  await links.update(link.id, { title: 'Sketch' })
  expect(titles(await links.list({ taskId: task.id }))).toBe('Sketch')
  const stop = new AbortController()
  const other = await docket.projects.create({ name: 'R' })
  const mirror = docket.project(other.id).mirror({ signal: stop.signal })
  await mirror.ready
  await docket.tasks.update(task.id, { projectId: other.id })
  await mirror.reach((await docket.tasks.list({ projectId: other.id }).page()).version!)
  expect(mirror.get(task.id)).toEqual(await docket.tasks.get(task.id))
  stop.abort()
})

test('a field with a user must name a member, is filtered by me for each caller, and is shown by name', async () => {
  const { id } = await created('/projects', { name: 'S' })
  const [bea, carl] = [await register(service.client, 'Bea'), await register(service.client, 'Carl')]
  await invite(ada, id, bea, 'EDITOR')
  const message = 'reviewerId must be the owner or a member of the project'
  const refused = await ada.post('/tasks', { projectId: id, title: 'x', reviewerId: carl.id })
  expect([refused.status, refused.body.message]).toEqual([400, message])
  const task = await created('/tasks', { projectId: id, title: 'k', reviewerId: bea.id })
  const path = `/tasks?projectId=${id}&reviewerId=me`
  for (const _ of [1, 2]) {
    expect(titles((await bea.get(path)).body)).toBe('k')
    expect(titles((await ada.get(path)).body)).toBe('')
  }
  const { call } = await connect(service, ada.token)
  const { body } = await call<{ tasks: object[] }>('find', { project: id, reviewerId: 'Bea' })
  expect(body.tasks).toMatchObject([{ title: 'k', reviewer: 'Bea' }])
  const { text } = await ada.get(`/projects/${id}/export?format=docket`)
  expect(text).toContain(`"reviewer":{"id":"${bea.id}","name":"Bea"`)
  const env = { DOCKET_URL: origin, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id, HOME: '/nonexistent' }
  expect((await runDocket(['tasks', '--reviewer', 'Bea'], { fetch: send, env })).out).toMatch(
    /REVIEWER.*\n.*Bea/,
  )
  await ada.patch(`/tasks/${task.id}`, { projectId })
  expect((await ada.get(`/tasks/${task.id}`)).body).toMatchObject({ reviewerId: null })
})
