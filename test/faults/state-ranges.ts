import type { Role } from '../../src/identity/rights.ts'
import type { LogEvent } from './evidence.ts'

/** The versions of a project from `from` to `before` - 1. */
export interface VersionRange {
  projectId: string
  from: number
  before: number
}

/** A user's role over a range of versions; null if the user is no member or the project is deleted. */
export type RoleRange = VersionRange & { role: Role | null }

export type TaskRange = VersionRange & { deleted: boolean }

/** The roles of users, the projects of tasks and the deleted rows at each version. Uses only the log. */
export class StateRanges {
  readonly taskRanges = new Map<string, TaskRange[]>()
  readonly deleted = new Map<string, VersionRange[]>()
  private readonly roles = new Map<string, RoleRange[]>()
  private readonly ends = new Map<string, number>()

  constructor(events: LogEvent[]) {
    for (const event of events) this.apply(event)
  }

  rolesOf(userId: string, projectId: string): RoleRange[] {
    const known = this.roles.get(`${userId} ${projectId}`) ?? []
    const end = this.ends.get(projectId) ?? Infinity
    const ranges = [
      { projectId, from: 0, before: known[0]?.from ?? end, role: null },
      ...known.map((range) => ({ ...range, before: Math.min(range.before, end) })),
      { projectId, from: end, before: Infinity, role: null },
    ]
    return ranges.filter(({ from, before }) => from < before)
  }

  roleAt({ actorId, projectId, seq }: LogEvent): Role | null {
    const range = this.rolesOf(actorId, projectId).find(({ from, before }) => from < seq && before >= seq)
    return range?.role ?? null
  }

  deletedRangesOf(taskId: string): VersionRange[] {
    const ranges = this.taskRanges.get(taskId) ?? []
    return ranges.flatMap(({ deleted, projectId, before: from }) => {
      const next = ranges.find((range) => range.projectId === projectId && range.from > from)
      return deleted ? [{ projectId, from, before: next?.from ?? Infinity }] : []
    })
  }

  private apply(event: LogEvent): void {
    const { projectId, seq, type, entity, entityId, before, after } = event
    const open = { projectId, from: seq, before: Infinity }
    if (type === 'project.created') this.setRole(projectId, after?.ownerId as string, seq, 'OWNER')
    if (type === 'project.deleted') this.ends.set(projectId, seq)
    if (entity === 'member') {
      const userId = (after ?? before)?.userId as string
      this.setRole(projectId, userId, seq, (after?.role as Role | undefined) ?? null)
    }
    if (after) this.endDeletion(event)
    if (type === 'task.created' || (type === 'task.moved_in' && !before))
      this.taskRanges.set(entityId, [...(this.taskRanges.get(entityId) ?? []), { ...open, deleted: false }])
    if (entity === 'task' && !after) {
      const last = this.taskRanges.get(entityId)?.findLast((range) => range.projectId === projectId)
      if (last) Object.assign(last, { before: seq, deleted: type === 'task.deleted' })
    } else if (!after) this.deleted.set(entityId, [...(this.deleted.get(entityId) ?? []), open])
  }

  /** Events are sorted by project, so the last deletion may be a later one in another project. */
  private endDeletion({ projectId, entityId, seq, undoes }: LogEvent): void {
    if (undoes == null) return
    const last = this.deleted.get(entityId)?.findLast((range) => range.projectId === projectId)
    if (last && last.before === Infinity) last.before = seq
  }

  private setRole(projectId: string, userId: string, seq: number, role: Role | null): void {
    const key = `${userId} ${projectId}`
    const ranges = this.roles.get(key) ?? []
    const last = ranges.at(-1)
    if (last) last.before = seq
    this.roles.set(key, [...ranges, { projectId, from: seq, before: Infinity, role }])
  }
}

export function intersection(one: VersionRange, other: VersionRange): VersionRange | undefined {
  const [from, before] = [Math.max(one.from, other.from), Math.min(one.before, other.before)]
  return one.projectId === other.projectId && from < before
    ? { projectId: one.projectId, from, before }
    : undefined
}
