import type { Task } from '../schemas.ts'

type Referring = Pick<Task, 'id' | 'labelIds' | 'blockedByIds'>

/** The tasks that contain the id of a label or a task. */
export class References {
  private readonly users = new Map<string, Set<string>>()

  to(id: string): Iterable<string> {
    return this.users.get(id) ?? []
  }

  /** Replaces the references of a task. */
  replace(before: Referring | undefined, after: Referring | undefined): void {
    for (const id of idsIn(before)) {
      const users = this.users.get(id)
      users?.delete(before!.id)
      if (users?.size === 0) this.users.delete(id)
    }
    for (const id of idsIn(after)) {
      const users = this.users.get(id) ?? new Set()
      this.users.set(id, users.add(after!.id))
    }
  }
}

const idsIn = (task: Referring | undefined) => (task ? [...task.labelIds, ...task.blockedByIds] : [])
