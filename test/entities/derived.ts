// Runs in a copy of the project that has the field `estimate` and the child `link`: see copy.deep.test.ts.
import { expect, test } from 'bun:test'
import { allPages } from '../http/list-pages.ts'
import { connect } from '../mcp/mcp-client.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { newTask } from '../../clients/typescript/src/tanstack.ts'
import { fillStart } from '../../modules/search/documents.ts'
import { runDocket } from '../cli/scene.ts'
import { invite, register } from '../support/client.ts'
import { ada, batch, created, rowsAt, service, sql, undo } from './scene.ts'

const { id: projectId } = await created('/projects', { name: 'P' })
for (const [title, estimate] of Object.entries({ a: 3, b: null, c: 1, d: 20, e: 3 }))
  await created('/tasks', { projectId, title, estimate, status: estimate === 1 ? 'DONE' : 'TODO' })
const titles = (tasks: { title?: unknown }[]) => tasks.map(({ title }) => title).join('')
const list = async (query: string, project = projectId) =>
  titles((await allPages(ada, `/tasks?projectId=${project}&limit=2&${query}`)).flat())
const file = async (format: string) => (await ada.get(`/projects/${projectId}/export?format=${format}`)).text

test('a list filters by a value and by bounds of a new field, and sorts by it', async () => {
  expect(await list('estimate=3')).toBe('ae')
  expect(await list('estimateMin=3')).toBe('aed')
  expect(await list('estimateMin=1&estimateMax=3')).toBe('cae')
  expect(await list('estimateMin=1&estimateMax=3&sort=createdAt')).toBe('ace')
  expect(await list('sort=estimate')).toBe('caedb')
  expect(await list('sort=-estimate')).toBe('bdeac')
  expect(await list('sort=estimate&status=TODO&priority=MEDIUM')).toBe('aedb')
  expect(await list('sort=position&estimateMax=3')).toBe('ace')
  expect(titles((await allPages(ada, '/tasks?limit=2&estimate=3')).flat())).toBe('ae')
  expect(titles((await allPages(ada, '/tasks?limit=2&sort=-estimate')).flat())).toBe('bdeac')
  for (const query of ['estimate=x', 'estimateMin=1.5', 'estimate=', 'sort=estimated'])
    expect({ query, status: (await ada.get(`/tasks?projectId=${projectId}&${query}`)).status }).toEqual({
      query,
      status: 400,
    })
  await created(`/projects/${projectId}/views`, { name: 'Small', query: { estimateMax: '3' } })
  expect(await list('asOf=4&sort=estimate')).toBe('cab')
})

test('files contain a new field and a new child', async () => {
  const task = await created('/tasks', { projectId, title: 'f', estimate: 8 })
  const url = 'https://example.com'
  await created(`/tasks/${task.id}/links`, { title: 'Plan', url })
  await created(`/tasks/${task.id}/links`, { title: 'Sketch', url })
  const [header = '', ...rows] = (await file('csv')).replace('\ufeff', '').split('\r\n')
  const [names, cells] = [header.split(','), rows.find((row) => row.includes(task.id))!.split(',')]
  expect(cells[names.indexOf('estimate')]).toBe('8')
  expect(cells[names.indexOf('links')]).toBe('"Plan\nSketch"')
  const lines = (await file('docket')).trim().split('\n')
  const records = lines.map((line) => JSON.parse(line))
  expect(records.find(({ id }) => id === task.id)).toMatchObject({ kind: 'task', estimate: 8 })
  expect(titles(records.filter(({ kind }) => kind === 'link'))).toBe('PlanSketch')
  const [shown] = (await file('ndjson'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .slice(-1)
  expect(shown).toMatchObject({
    estimate: 8,
    links: [
      { title: 'Plan', url },
      { title: 'Sketch', url },
    ],
  })
})

test('the tools of agents filter by a new field, and show the field and a new child', async () => {
  const { call } = await connect(service, ada.token)
  const found = await call<{ tasks: object[] }>('find', {
    project: projectId,
    estimateMax: 3,
    sort: '-estimate',
  })
  expect(found.body.tasks).toMatchObject([{ estimate: 3 }, { estimate: 3 }, { estimate: 1 }])
  const task = await created('/tasks', { projectId, title: 'g', estimate: 8 })
  await created(`/tasks/${task.id}/links`, { title: 'Plan', url: 'https://example.com' })
  const { body } = await call('get', { id: task.id })
  expect(body).toMatchObject({ estimate: 8, links: [{ title: 'Plan', url: 'https://example.com' }] })
})

test('a new field is written by every kind of write, and moves', async () => {
  const place = { projectId: (await created('/projects', { name: 'Q' })).id, taskId: '' }
  const path = `/projects/${place.projectId}/tasks/external/X-1`
  const { id } = (await ada.call('PUT', path, { title: 'h', estimate: 2 })).body
  const estimate = async (query = '') =>
    ((await ada.get(`/tasks/${id}${query}`)).body as { estimate?: number }).estimate
  await batch(place, [{ op: 'task.update', id, was: { estimate: 2 }, estimate: 5 }])
  expect([await estimate(), await estimate('?asOf=2')]).toEqual([5, 2])
  await undo(place.projectId, 3)
  expect(await estimate()).toBe(2)
  await created(`/tasks/${id}/links`, { title: 'Plan', url: 'https://example.com' })
  await ada.patch(`/tasks/${id}`, { projectId })
  expect(await estimate()).toBe(2)
  expect(titles(await rowsAt(`/tasks/${id}/links`))).toBe('Plan')
})

test('a search of tasks finds the text of a new child, also after a move, an undo and a fill of the index', async () => {
  const [from, to] = [await created('/projects', { name: 'S' }), await created('/projects', { name: 'T' })]
  const task = await created('/tasks', { projectId: from.id, title: 'k' })
  const link = await created(`/tasks/${task.id}/links`, { title: 'Quokka', url: 'https://example.com' })
  const found = (q: string, project = from.id) => list(`q=${q}`, project)
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

test('the client has the default of a new field and the methods of a new child, and mirrors only the field', async () => {
  expect(newTask({ title: 'i', projectId }) as object).toMatchObject({ estimate: null })
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
  await docket.tasks.update(task.id, { projectId: other.id, ...{ estimate: 9 } })
  await mirror.reach((await docket.tasks.list({ projectId: other.id }).page()).version!)
  expect(mirror.get(task.id)).toEqual(await docket.tasks.get(task.id))
  stop.abort()
})

test('the command line has options for a new field, and a column', async () => {
  const env = {
    DOCKET_URL: origin,
    DOCKET_TOKEN: ada.token!,
    DOCKET_PROJECT: projectId,
    HOME: '/nonexistent',
  }
  const docket = (...line: string[]) => runDocket(line, { fetch: send, env })
  const added = JSON.parse((await docket('add', 'j', '--estimate', '40', '--json')).out)
  expect(added.estimate).toBe(40)
  await docket('edit', added.id, '--estimate', '41')
  const { out } = await docket('tasks', '--estimate-min', '40', '--sort', '-estimate')
  expect(out).toMatch(/ESTIMATE.*\n.*\b41\b/)
  expect(JSON.parse((await docket('tasks', '--estimate', '41', '--json')).out)).toMatchObject([
    { estimate: 41 },
  ])
  expect((await docket('add', 'k', '--estimate', 'x')).err).toContain('--estimate must be a whole number')
  expect(JSON.parse((await docket('edit', added.id, '--estimate', '', '--json')).out).estimate).toBeNull()
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
