import type { Entity } from '../../src/model/entities.ts'

interface Task {
  id: string
  projectId: string
  blockedByIds?: string[] | null
}

/** Removes the tasks without blockers repeatedly. The tasks that remain are in a cycle, or are blocked by one. */
export function blockedByCycles(rows: { entity: Entity; row: { id: string } }[]): string[] {
  const left = new Map(
    rows.flatMap(({ entity, row }) => (entity === 'task' ? [[row.id, row as Task] as const] : [])),
  )
  const isBlocked = ({ projectId, blockedByIds }: Task) =>
    blockedByIds?.some((id) => left.get(id)?.projectId === projectId)
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const [id, task] of left) if (!isBlocked(task)) left.delete(id)
  }
  return [...left.keys()].map((id) => `task ${id} is in a cycle of blockers, or is blocked by one`)
}
