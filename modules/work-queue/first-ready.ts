import type { TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { isLive } from '../../src/model/claims.ts'
import { keyOf } from '../order/keys.ts'
import { priorities } from '../tasks/schema.ts'
import { readyTasks, type TaskFilter } from './ready-tasks.ts'

/**
 * Returns the first ready task by priority, then position. Sees all changes that the batch has decided so far.
 * @throws FactNeeded if too few tasks are loaded
 */
export function firstReady(state: ProjectState, now: string, filter: TaskFilter): TaskRow | undefined {
  const fact = state.fact(readyTasks)
  const fitting = (id: string) => {
    const task = state.row('task', id)
    return task && isFree(state, task, now) && fits(task, filter) ? task : undefined
  }
  const loaded = fact.loadedFor(filter)
  let first: TaskRow | undefined
  for (const id of loaded) if (!fact.changed.has(id) && (first = fitting(id))) break
  // Without a task that was ready before the batch, a task that is not loaded may be first.
  const wasReady = (task?: TaskRow) => task && !task.blockedByIds?.some((id) => fact.changed.has(id))
  if (!loaded.some((id) => !fact.changed.has(id) && wasReady(fitting(id)))) fact.requireAll(filter)
  // The query has not seen the blockers of other tasks.
  for (const id of fact.changed) {
    const task = fitting(id)
    if (task && (loaded.includes(id) || knowsBlockers(state, task)) && (!first || isBefore(task, first)))
      first = task
  }
  return first
}

function isFree(state: ProjectState, task: TaskRow, now: string): boolean {
  const { projectId, status, blockedByIds } = task
  if (projectId !== state.projectId || status === 'DONE' || isLive(task, now)) return false
  const isOpen = (blocker?: TaskRow) => blocker?.projectId === projectId && blocker.status !== 'DONE'
  return !blockedByIds?.some((id) => isOpen(state.row('task', id)))
}

const knowsBlockers = (state: ProjectState, { blockedByIds }: TaskRow): boolean =>
  !blockedByIds?.some((id) => !state.isLoaded('task', id))

function fits(task: TaskRow, { labels, anyLabel, priority, assigneeId }: TaskFilter): boolean {
  const has = (id: string) => task.labelIds?.includes(id) === true
  if ((priority && task.priority !== priority) || (assigneeId && task.assigneeId !== assigneeId)) return false
  return (!labels || labels.every(has)) && (!anyLabel?.length || anyLabel.some(has))
}

function isBefore(task: TaskRow, other: TaskRow): boolean {
  const [rank, otherRank] = [priorities.indexOf(task.priority), priorities.indexOf(other.priority)]
  return rank === otherRank ? keyOf(task) < keyOf(other) : rank > otherRank
}
