import { expect, test } from 'bun:test'
import type { LabelledTask } from '../http/label-scene.ts'
import { type Body, make } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile } from '../support/service.ts'
import { openPair, statuses, upTo } from './pair.ts'

const { atA, atB, sql } = await forFile(openPair())
const either = (n: number) => (n % 2 ? atA : atB)

async function createProject(labels: number) {
  const { id: projectId } = await make(atA, '/projects', { name: 'P' })
  const operations = upTo(labels).map((n) => ({ op: 'label.create', name: `L${n}` }))
  if (labels > 0) await atA.post(`/projects/${projectId}/batch`, { operations })
  const ids = (await atA.get(`/projects/${projectId}/labels`)).body.map(({ id }) => id)
  return { projectId, ids }
}
const createTask = async (projectId: string, labelIds: string[] = []) =>
  (await make(atA, '/tasks', { title: 'T', projectId, labelIds })).id
const labelsOf = async (id: string) => ((await atB.get(`/tasks/${id}`)).body as LabelledTask).labelIds
const namesIn = async (projectId: string) =>
  (await atB.get(`/projects/${projectId}/labels`)).body.map(({ name }: Body) => name)

test('many writers at two processes add and remove labels of one task, and no change is lost', async () => {
  const { projectId, ids } = await createProject(50)
  const taskId = await createTask(projectId, ids.slice(0, 25))
  const changes = ids.map((id, n) => {
    const edit = n < 25 ? 'removeLabelIds' : 'addLabelIds'
    return either(n).patch(`/tasks/${taskId}`, { [edit]: [id] })
  })
  expect(statuses(await Promise.all(changes))).toEqual({ 200: 50 })
  expect((await labelsOf(taskId)).toSorted()).toEqual(ids.slice(25).toSorted())
  expect(await faultsOf(sql)).toEqual([])
})

test('if many writers at two processes create a label with one name, or rename a label to one name, one writer succeeds', async () => {
  const { projectId, ids } = await createProject(10)
  const path = `/projects/${projectId}/labels`
  const creations = upTo(10).map((n) => either(n).post(path, { name: n % 3 ? 'Bug' : 'bUG' }))
  expect(statuses(await Promise.all(creations))).toEqual({ 201: 1, 409: 9 })
  const renames = ids.map((id, n) => either(n).patch(`/labels/${id}`, { name: 'New' }))
  expect(statuses(await Promise.all(renames))).toEqual({ 200: 1, 409: 9 })
})

test('concurrent moves into one project create a missing label once', async () => {
  const sources = await Promise.all(upTo(4).map(() => createProject(2)))
  const taskIds = await Promise.all(sources.map(({ projectId, ids }) => createTask(projectId, ids)))
  const target = await createProject(0)
  const moves = taskIds.map((id, n) => either(n).patch(`/tasks/${id}`, { projectId: target.projectId }))
  expect(statuses(await Promise.all(moves))).toEqual({ 200: 4 })
  expect((await namesIn(target.projectId)).toSorted()).toEqual(['L1', 'L2'])
  const labels = await Promise.all(taskIds.map(labelsOf))
  expect(new Set(labels.flat()).size).toBe(2)
  expect(await faultsOf(sql)).toEqual([])
})

test('no task shows a label that is deleted while clients add it to tasks', async () => {
  const { projectId, ids } = await createProject(1)
  const [label = ''] = ids
  const taskIds = await Promise.all(upTo(12).map(() => createTask(projectId)))
  const adding = taskIds.map((id, n) => either(n).patch(`/tasks/${id}`, { addLabelIds: [label] }))
  const [deletion, ...added] = await Promise.all([atB.delete(`/labels/${label}`), ...adding])
  expect(deletion.status).toBe(200)
  expect(added.every(({ status }) => status === 200 || status === 400)).toBe(true)
  expect((await Promise.all(taskIds.map(labelsOf))).flat()).toEqual([])
  expect(await faultsOf(sql)).toEqual([])
})
