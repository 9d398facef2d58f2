import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { service, ada } = await openScene(['Ada'])

test('a write to a row that this process created or moved needs no query for its project', async () => {
  const { places } = service.services.counts.caches
  const [project, other] = [
    await make(ada, '/projects', { name: 'P' }),
    await make(ada, '/projects', { name: 'O' }),
  ]
  const task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
  const before = places.misses
  for (const projectId of [other.id, project.id])
    expect((await ada.patch(`/tasks/${task.id}`, { projectId })).status).toBe(200)
  expect((await ada.patch(`/tasks/subtasks/${subtask.id}/toggle`)).status).toBe(200)
  expect(places.misses).toBe(before)
})
