import { beforeEach, expect, test } from 'bun:test'
import { openSearchIndex } from '../../modules/search/indexing/index-projects.ts'
import { make, versionOf } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { expectIndexed as expectRows, readIndex } from './indexed.ts'

const { ada, sql } = await openScene(['Ada'])
const index = openSearchIndex(sql, 10_000)

let projectId = ''
let otherId = ''

beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Orrery', description: 'Brass and steel' })).id
  otherId = (await make(ada, '/projects', { name: 'Workshop' })).id
  await expectIndexed()
})

const expectIndexed = () => expectRows(sql, index, [projectId, otherId])

const countOf = async (id: string) => (await readIndex(sql)).filter((row) => row.taskId === id).length

async function createTask() {
  const { id } = await make(ada, '/tasks', {
    projectId,
    title: 'Draw the plate',
    description: 'In "Ångström" \\ a',
  })
  const comment = await make(ada, `/tasks/${id}/comments`, { text: 'Too thin' })
  const subtask = await make(ada, `/tasks/${id}/subtasks`, { title: 'Choose the brass' })
  return { id, commentId: comment.id, subtaskId: subtask.id }
}

test('indexes created rows', async () => {
  const { id } = await createTask()
  await expectIndexed()
  expect(await countOf(id)).toBe(3)
})

test('indexes changed titles, descriptions, comments, subtasks and names', async () => {
  const { id, commentId, subtaskId } = await createTask()
  await expectIndexed()
  for (const [path, change] of [
    [`/tasks/${id}`, { title: 'Draw the second plate' }],
    [`/tasks/comments/${commentId}`, { text: 'Too thick' }],
    [`/tasks/subtasks/${subtaskId}`, { title: 'Choose the steel' }],
    [`/projects/${projectId}`, { name: 'Planetarium' }],
  ] as const) {
    expect((await ada.patch(path, change)).status).toBe(200)
    await expectIndexed()
  }
  await ada.patch(`/tasks/${id}`, { description: null })
  await expectIndexed()
})

test('other changes only move the position', async () => {
  const { id } = await createTask()
  await expectIndexed()
  await ada.patch(`/tasks/${id}`, { status: 'DONE' })
  await sql`delete from search where id = ${id}`
  await index.bringUpToDate([projectId])
  expect(await countOf(id)).toBe(2)
})

test('removes deleted rows, and indexes restored rows again', async () => {
  const { id, commentId } = await createTask()
  await expectIndexed()
  expect((await ada.delete(`/tasks/comments/${commentId}`)).status).toBe(200)
  await expectIndexed()
  expect(await countOf(id)).toBe(2)
  await ada.delete(`/tasks/${id}`)
  await expectIndexed()
  expect(await countOf(id)).toBe(0)
  const seq = await versionOf(ada, projectId)
  expect((await ada.post(`/projects/${projectId}/undo`, { seq })).status).toBe(200)
  await expectIndexed()
  expect(await countOf(id)).toBe(2)
})

for (const order of [['source', 'target'], ['target', 'source'], ['both']])
  test(`a moved task is in its project only, also if the projects are indexed in the order: ${order}`, async () => {
    const { id, commentId } = await createTask()
    await expectIndexed()
    await ada.patch(`/tasks/comments/${commentId}`, { text: 'Too wide' })
    expect((await ada.patch(`/tasks/${id}`, { projectId: otherId })).status).toBe(200)
    if (order[0] === 'source') await index.bringUpToDate([projectId])
    if (order[0] === 'target') await index.bringUpToDate([otherId])
    await expectIndexed()
    expect(await countOf(id)).toBe(3)
    await ada.patch(`/tasks/${id}`, { projectId })
    await index.bringUpToDate([order[0] === 'source' ? otherId : projectId])
    await expectIndexed()
  })
