import { expect, test } from 'bun:test'
import { allPages } from '../http/list-pages.ts'
import { expectError } from '../http/responses.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { comment, get, project, task, titlesOf } from './scene.ts'

const { ada } = await openScene(['Ada'])
const engine = await project(ada, 'Engine')
const oil = await task(ada, engine, 'Oil the wheels', { description: 'thin', priority: 'HIGH' })
await comment(ada, oil, 'Grease is too thick')
await make(ada, `/tasks/${oil}/subtasks`, { title: 'Fetch the ladder' })
await task(ada, engine, 'Draw the wheels', { externalId: 'X-1' })

const found = async (q: string, parameters = `projectId=${engine}`) =>
  titlesOf((await get(ada, '/tasks', q, parameters)).body)

test('an excluded word or phrase may be in no text of the task', async () => {
  for (const q of ['wheels -thin', 'wheels -grease', 'wheels -ladder', 'wheels -"is too"'])
    expect([q, await found(q)]).toEqual([q, ['Draw the wheels']])
})

test('q combines with the filters and the order of the list', async () => {
  expect(await found('wheels', `projectId=${engine}&priority=HIGH`)).toEqual(['Oil the wheels'])
  expect(await found('wheels', 'sort=-createdAt')).toEqual(['Draw the wheels', 'Oil the wheels'])
  expect(await found('wheels', `projectId=${engine}&sort=position`)).toEqual([
    'Oil the wheels',
    'Draw the wheels',
  ])
  const pages = await allPages(ada, `/tasks?q=wheels&limit=1`)
  expect(titlesOf(pages.flat())).toEqual(['Oil the wheels', 'Draw the wheels'])
})

test('a view can contain a search', async () => {
  const { id } = await make(ada, `/projects/${engine}/views`, { name: 'Wheels', query: { q: 'wheels thin' } })
  const answer = await ada.get(`/views/${id}/tasks`)
  expect(titlesOf(answer.body)).toEqual(['Oil the wheels'])
  expect(answer.headers.get('docket-indexed')).toBe('all')
  expectError(
    await ada.post(`/projects/${engine}/views`, { name: 'None', query: { q: ' ' } }),
    400,
    'query.q must be a text of 1 to 1000 characters',
  )
})
