import { createCollection } from '@tanstack/db'
import { PreconditionRequiredError, UnauthorizedError } from '../../clients/typescript/src/errors.ts'
import { docketCollection, newTask } from '../../clients/typescript/src/tanstack.ts'
import { eventually } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { ada, docket, open } = await openClientScene()

async function openCollection() {
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  await docket.tasks.create({ projectId, title: 'Draw' })
  const tasks = createCollection(docketCollection({ docket, projectId }))
  await tasks.preload()
  return { projectId, tasks }
}

test('a collection shows the tasks of a project, and the changes of other clients', async () => {
  const { projectId, tasks } = await openCollection()
  expect(tasks.toArray.map(({ title }) => title)).toEqual(['Draw'])
  const other = await docket.tasks.create({ projectId, title: 'Oil' })
  await eventually('the new task', () => tasks.get(other.id)?.title === 'Oil')
  await docket.tasks.update(other.id, { status: 'DONE' })
  await eventually('the change', () => tasks.get(other.id)?.status === 'DONE')
  await docket.tasks.delete(other.id)
  await eventually('the deletion', () => !tasks.has(other.id))
  await tasks.cleanup()
})

test('inserts, updates and deletes are shown at once and are committed', async () => {
  const { projectId, tasks } = await openCollection()
  await ada.post(`/projects/${projectId}/fields`, { key: 'size', name: 'Size', type: 'text' })
  const cast = newTask({ projectId, title: 'Cast', fields: { size: 'L' } })
  const inserted = tasks.insert([cast, newTask({ projectId, title: 'Mount', blockedByIds: [cast.id] })])
  expect(tasks.get(cast.id)?.number).toBe(0)
  await inserted.isPersisted.promise
  expect(tasks.get(cast.id)).toMatchObject({ number: 2, fields: { size: 'L' } })
  const [first] = await docket.tasks.list({ projectId })
  const updated = tasks.update([cast.id, first!.id], (drafts) => {
    for (const draft of drafts) {
      draft.status = 'IN_PROGRESS'
      draft.fields = {}
    }
  })
  expect(tasks.get(cast.id)?.status).toBe('IN_PROGRESS')
  await updated.isPersisted.promise
  await tasks.delete(first!.id).isPersisted.promise
  const rows = await docket.tasks.list({ projectId })
  expect(rows.map(({ title, status, fields }) => [title, status, fields])).toEqual([
    ['Cast', 'IN_PROGRESS', {}],
    ['Mount', 'TODO', {}],
  ])
  const plain = tasks.toArray.map(({ id }) => docket.tasks.get(id))
  for (const row of await Promise.all(plain)) expect(tasks.get(row.id)).toMatchObject(row)
  await tasks.cleanup()
})

test('a rejected change is rolled back', async () => {
  const { projectId, tasks } = await openCollection()
  const [draw] = tasks.toArray
  const invalid = tasks.insert([newTask({ projectId, title: 'Oil' }), newTask({ projectId, title: '' })])
  await expect(invalid.isPersisted.promise).rejects.toThrow('operations[1]: title')
  expect(tasks.toArray.map(({ id }) => id)).toEqual([draw!.id])
  await tasks.cleanup()
})

test('in a strict project, a change of a text is committed unless another client has changed the text', async () => {
  const { projectId, tasks } = await openCollection()
  await docket.projects.update(projectId, { textEdits: 'if-match' })
  const { id } = tasks.toArray[0]!
  const rename = (title: string) =>
    tasks.update(id, (draft) => void (draft.title = title)).isPersisted.promise
  await rename('Draw it')
  expect(await docket.tasks.get(id)).toMatchObject({ title: 'Draw it' })
  const stale = docketCollection({ docket, projectId }).onUpdate
  const original = { ...tasks.get(id)!, title: 'Draw' }
  const mutations = [{ key: id, original, changes: { title: 'Mend' } }]
  const late = stale({ transaction: { mutations } } as never)
  await expect(late).rejects.toBeInstanceOf(PreconditionRequiredError)
  expect(await docket.tasks.get(id)).toMatchObject({ title: 'Draw it' })
  await tasks.cleanup()
})

test('the collection of a project that the caller may not read has the status error', async () => {
  const { id: projectId } = await docket.projects.create({ name: 'Engine' })
  const tasks = createCollection(docketCollection({ docket: open({ token: 'invalid' }), projectId }))
  await expect(tasks.preload()).rejects.toBeInstanceOf(UnauthorizedError)
  expect(tasks.status).toBe('error')
})
