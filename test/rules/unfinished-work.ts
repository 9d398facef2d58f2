import { type Client, invite, make, type Person } from '../support/client.ts'

async function taskWithAll(owner: Client, projectId: string, assigneeId: string | null = null) {
  const task = await make(owner, '/tasks', { projectId, title: 'T', assigneeId })
  await make(owner, `/tasks/${task.id}/subtasks`, { title: 'S' })
  await make(owner, `/tasks/${task.id}/comments`, { text: 'C' })
  return task
}

/** A deleted project, a deleted task and a removed member, each of which leaves something for the workers. */
export async function leaveWork(owner: Client, somebody: Person): Promise<void> {
  const goes = await make(owner, '/projects', { name: 'Goes' })
  await taskWithAll(owner, goes.id)
  await invite(owner, goes.id, somebody)
  const stays = await make(owner, '/projects', { name: 'Stays' })
  const member = await invite(owner, stays.id, somebody)
  await taskWithAll(owner, stays.id, somebody.id)
  const task = await taskWithAll(owner, stays.id)
  await owner.delete(`/tasks/${task.id}`)
  await owner.delete(`/projects/${stays.id}/members/${member.id}`)
  await owner.delete(`/projects/${goes.id}`)
}
