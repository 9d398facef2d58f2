import type { Task } from '../schemas.ts'

type Referring = Pick<Task, 'id' | 'labelIds' | 'blockedByIds'>

/** An index of tasks by the ids of their labels and blockers. */
export class References {
  private readonly taskIdsById = new Map<string, Set<string>>()

  /** Returns the ids of the tasks with this label or blocker. */
  to(id: string): Iterable<string> {
    return this.taskIdsById.get(id) ?? []
  }

  /** Replaces the references of a task. */
  replace(before: Referring | undefined, after: Referring | undefined): void {
    for (const id of idsIn(before)) {
      const taskIds = this.taskIdsById.get(id)
      taskIds?.delete(before!.id)
      if (taskIds?.size === 0) this.taskIdsById.delete(id)
    }
    for (const id of idsIn(after)) {
      const taskIds = this.taskIdsById.get(id) ?? new Set()
      this.taskIdsById.set(id, taskIds.add(after!.id))
    }
  }
}

const idsIn = (task: Referring | undefined) => (task ? [...task.labelIds, ...task.blockedByIds] : [])
