import { type Client, invite, make, type Person } from '../kit.ts'

async function taskWithAll(owner: Client, projectId: string, assigneeId: string | null = null) {
  const task = await make(owner, '/tasks', { projectId, title: 'T', assigneeId })
  const subtask = await make(owner, `/tasks/${task.id}/subtasks`, { title: 'S' })
  const comment = await make(owner, `/tasks/${task.id}/comments`, { text: 'C' })
  return { task, subtask, comment }
}

async function moveAll(owner: Client, from: string, to: string): Promise<void> {
  const [untouched, touched] = [await taskWithAll(owner, from), await taskWithAll(owner, from)]
  for (const { task } of [untouched, touched]) await owner.patch(`/tasks/${task.id}`, { projectId: to })
  await owner.patch(`/tasks/subtasks/${touched.subtask.id}/toggle`)
  await owner.delete(`/tasks/comments/${touched.comment.id}`)
}

/** Leaves jobs for the workers: a deleted project from which tasks have moved, a deleted task, and a removed member. */
export async function leaveWork(owner: Client, somebody: Person): Promise<void> {
  const goes = await make(owner, '/projects', { name: 'Goes' })
  await taskWithAll(owner, goes.id)
  await invite(owner, goes.id, somebody)
  const stays = await make(owner, '/projects', { name: 'Stays' })
  await moveAll(owner, goes.id, stays.id)
  const member = await invite(owner, stays.id, somebody)
  await taskWithAll(owner, stays.id, somebody.id)
  const { task } = await taskWithAll(owner, stays.id)
  await owner.delete(`/tasks/${task.id}`)
  await owner.delete(`/projects/${stays.id}/members/${member.id}`)
  await owner.delete(`/projects/${goes.id}`)
}
