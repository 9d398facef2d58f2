import { expect, test } from 'bun:test'
import { openClientScene } from './scene.ts'

const { docket } = await openClientScene()

test('creates, reads, updates, lists and deletes tasks of a project', async () => {
  const project = await docket.projects.create({ name: 'Engine' })
  const task = await docket.tasks.create({ projectId: project.id, title: 'Draw' })
  await docket.tasks.create({ projectId: project.id, title: 'Oil', status: 'DONE' })
  await docket.tasks.update(task.id, { status: 'IN_PROGRESS' }, { ifMatch: task })
  expect((await docket.tasks.get(task.id)).status).toBe('IN_PROGRESS')
  expect((await docket.tasks.get(task.id, { asOf: 2 })).status).toBe('TODO')
  const titles = []
  for await (const { title } of docket.tasks.list({ projectId: project.id, limit: 1 })) titles.push(title)
  expect(titles).toEqual(['Draw', 'Oil'])
  expect(await docket.tasks.list({ projectId: project.id, status: 'DONE' })).toHaveLength(1)
  expect(await docket.tasks.delete(task.id)).toEqual({ message: 'Task deleted successfully' })
})
