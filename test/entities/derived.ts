// Runs in a copy of the project that has the field `estimate` and the child `link`: see copy.deep.test.ts.
import { expect, test } from 'bun:test'
import { allPages } from '../http/list-pages.ts'
import { connect } from '../mcp/mcp-client.ts'
import { ada, created, service } from './scene.ts'

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
