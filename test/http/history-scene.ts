import { invite, make, type Person } from '../kit.ts'

export async function createHistory(ada: Person, grace: Person) {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const member = await invite(ada, projectId, grace, 'EDITOR')
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await grace.patch(`/tasks/${task.id}`, { status: 'DONE' })
  const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Sharpen' })
  await grace.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  const comment = await make(grace, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  await ada.patch(`/projects/${projectId}`, { name: 'Machine' })
  return { projectId, member, task, subtask, comment }
}
