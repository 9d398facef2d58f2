import type { Planner } from './plan.ts'
import type { KnownTask } from './world.ts'

const mostTasks = 30
const mostSubtasks = 4

/** A task and what hangs on it, all or nothing; at times the caller's own change of it in the same breath. */
export const createBatch: Planner = (world, random) => {
  const project = world.project(random)
  if (project.tasks.length >= mostTasks) return undefined
  const steps = Array.from({ length: random.below(mostSubtasks) }, () => {
    return { op: 'subtask.create', taskId: '#task', title: world.tag('subtask') }
  })
  const change = { op: 'task.update', id: '#task', title: world.tag('task'), status: 'DONE' }
  const operations = [
    { op: 'task.create', as: 'task', title: world.tag('task') },
    ...steps,
    { op: 'comment.create', taskId: '#task', text: world.tag('comment') },
    ...(random.chance(0.5) ? [change] : []),
  ]
  const caller = world.caller(project, random)
  const about = { entity: 'task' as const, id: '', projectId: project.id }
  const path = `/projects/${project.id}/batch`
  return {
    request: { kind: 'batch', method: 'POST', path, caller, body: { operations }, about },
    learn: (answer) => {
      const { results } = answer as unknown as { results: { id: string }[] }
      const ids = (op: string) => results.flatMap(({ id }, i) => (operations[i]!.op === op ? [id] : []))
      const comments = ids('comment.create').map((id) => ({ id, author: caller }))
      const task: KnownTask = { id: results[0]!.id, etag: null, subtasks: ids('subtask.create'), comments }
      project.tasks.push(task)
    },
  }
}
