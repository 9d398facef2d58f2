import { expect, test } from 'bun:test'
import { openSearchIndex } from '../../modules/search/indexing/index-projects.ts'
import { openSteps } from '../../modules/search/indexing/step.ts'
import { makeProjects, upTo } from '../races/pair.ts'
import { type Client, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { expectIndexed } from './indexed.ts'

const { ada, sql } = await openScene(['Ada'])
const index = openSearchIndex(sql, 10_000)

/** The most events of a step of two projects, so that moves are in a later step than the events before the moves. */
const eventsOfStep = 20

const create = async (projectId: string) => (await make(ada, '/tasks', { projectId, title: 'Plate' })).id

async function fillUp(owner: Client, projectIds: string[]): Promise<void> {
  const operations = upTo(eventsOfStep).map((n) => ({ op: 'task.create', title: `Ring ${n}` }))
  for (const id of projectIds) await owner.post(`/projects/${id}/batch`, { operations })
}

async function indexUpTo(projectIds: string[], targets?: Map<string, number>): Promise<string[]> {
  const { indexChanges } = openSteps(sql, eventsOfStep)
  let left = projectIds
  for (let step = 0; left.length > 0 && step < 30; step++) ({ left } = await indexChanges(left, targets))
  return left
}

test('projects that exchanged tasks with old changes do not wait for each other forever', async () => {
  const projectIds = await makeProjects(ada, 2)
  const [a = '', b = ''] = projectIds
  const [first, second] = [await create(a), await create(b)]
  await index.bringUpToDate(projectIds)
  for (const id of [first, second]) await ada.patch(`/tasks/${id}`, { title: 'Wheel' })
  await fillUp(ada, projectIds)
  expect((await ada.patch(`/tasks/${first}`, { projectId: b })).status).toBe(200)
  expect((await ada.patch(`/tasks/${second}`, { projectId: a })).status).toBe(200)
  expect(await indexUpTo(projectIds)).toEqual([])
  await expectIndexed(sql, index, projectIds)
})

test('a project that a task left waits for its new project only until the task has arrived', async () => {
  const [a = '', b = ''] = await makeProjects(ada, 2)
  const id = await create(a)
  await index.bringUpToDate([a, b])
  await ada.patch(`/tasks/${id}`, { title: 'Wheel' })
  await ada.patch(`/tasks/${id}`, { projectId: b })
  await fillUp(ada, [b, b])
  const [stream] = await sql<{ version: number }[]>`
    select version::float8 as version from streams where project_id = ${a}`
  const targets = new Map([[a, stream!.version]])
  expect(await indexUpTo([a], targets)).toEqual([])
  const [position] = await sql<{ isBehind: boolean }[]>`
    select p.seq < s.version as is_behind from search_positions p join streams s on s.project_id = p.project_id
    where p.project_id = ${b}`
  expect(position).toEqual({ isBehind: true })
  await expectIndexed(sql, index, [a, b])
})

/** Returns the ids of the documents with a task's words, in any project. */
const documentsOf = async (...ids: string[]) =>
  (await sql<{ id: string }[]>`select distinct id from search where id = any(${ids}::uuid[])`)
    .map(({ id }) => id)
    .sort()

test('a task that returned to a project keeps its new documents until the project has them', async () => {
  const [a = '', b = ''] = await makeProjects(ada, 2)
  const id = await create(b)
  await index.bringUpToDate([a, b])
  await ada.patch(`/tasks/${id}`, { projectId: a })
  const comment = await make(ada, `/tasks/${id}/comments`, { text: 'Needle' })
  await openSteps(sql).indexChanges([a])
  await ada.patch(`/tasks/${id}`, { projectId: b })
  await openSteps(sql).indexChanges([a])
  expect(await documentsOf(comment.id)).toEqual([comment.id])
  await expectIndexed(sql, index, [a, b])
})

test('a task keeps its documents while its new project waits for another project', async () => {
  const [a = '', b = '', c = ''] = await makeProjects(ada, 3)
  const ids = [await create(a), await create(b)]
  await index.bringUpToDate([a, b, c])
  await ada.patch(`/tasks/${ids[0]}`, { projectId: b })
  await ada.patch(`/tasks/${ids[1]}`, { projectId: c })
  await openSteps(sql).indexChanges([a, b])
  expect(await documentsOf(...ids)).toEqual(ids.sort())
  await expectIndexed(sql, index, [a, b, c])
})

test('a task that returned to a project has no documents of comments and subtasks that were deleted meanwhile', async () => {
  const [a = '', b = ''] = await makeProjects(ada, 2)
  const id = await create(b)
  const comment = await make(ada, `/tasks/${id}/comments`, { text: 'Needle' })
  const subtask = await make(ada, `/tasks/${id}/subtasks`, { title: 'Thread' })
  await index.bringUpToDate([a, b])
  await ada.patch(`/tasks/${id}`, { projectId: a })
  for (const path of [`comments/${comment.id}`, `subtasks/${subtask.id}`])
    expect((await ada.delete(`/tasks/${path}`)).status).toBe(200)
  await ada.patch(`/tasks/${id}`, { projectId: b })
  await expectIndexed(sql, index, [a, b])
  expect(await documentsOf(comment.id, subtask.id)).toEqual([])
})
