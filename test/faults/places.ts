import type { Role } from '../../src/identity/rights.ts'
import type { Fact } from './evidence.ts'

/** A stretch of a project's versions: from one, until before another. */
export interface Span {
  projectId: string
  from: number
  before: number
}

/** What a user was in a project, over its versions; null for a stranger and once the project is gone. */
export type RoleSpan = Span & { role: Role | null }

/** Where a task was, over the versions of each project it lived in. */
export type Stay = Span & { deleted: boolean }

/** Who was what, and what was where, at each version: told by the events alone. */
export class Places {
  readonly stays = new Map<string, Stay[]>()
  /** When a membership, subtask or comment was gone. */
  readonly gone = new Map<string, Span[]>()
  private readonly roles = new Map<string, RoleSpan[]>()
  private readonly ends = new Map<string, number>()

  constructor(facts: Fact[]) {
    for (const fact of facts) this.tell(fact)
  }

  rolesOf(userId: string, projectId: string): RoleSpan[] {
    const known = this.roles.get(`${userId} ${projectId}`) ?? []
    const [first] = known
    const end = this.ends.get(projectId) ?? Infinity
    const spans = [
      { projectId, from: 0, before: first?.from ?? end, role: null },
      ...known.map((span) => ({ ...span, before: Math.min(span.before, end) })),
      { projectId, from: end, before: Infinity, role: null },
    ]
    return spans.filter(({ from, before }) => from < before)
  }

  private tell(fact: Fact): void {
    const { projectId, seq, type, entityId, before, after } = fact
    if (type === 'project.created') this.note(projectId, after?.ownerId as string, seq, 'OWNER')
    if (type === 'project.deleted') this.ends.set(projectId, seq)
    if (fact.entity === 'member') {
      const userId = (after ?? before)?.userId as string
      this.note(projectId, userId, seq, (after?.role as Role | undefined) ?? null)
    }
    if (after) this.cameBack(fact)
    if (type === 'task.created' || (type === 'task.moved_in' && !before)) {
      const stay = { projectId, from: seq, before: Infinity, deleted: false }
      this.stays.set(entityId, [...(this.stays.get(entityId) ?? []), stay])
    }
    if (fact.entity === 'task' && !after) {
      const stay = this.stays.get(entityId)?.findLast((known) => known.projectId === projectId)
      if (stay) Object.assign(stay, { before: seq, deleted: type === 'task.deleted' })
    } else if (!after) {
      const span = { projectId, from: seq, before: Infinity }
      this.gone.set(entityId, [...(this.gone.get(entityId) ?? []), span])
    }
  }

  private cameBack({ entityId, seq, undoes }: Fact): void {
    const last = undoes == null ? undefined : this.gone.get(entityId)?.at(-1)
    if (last && last.before === Infinity) last.before = seq
  }

  /** When a task was deleted, until it came back. */
  absencesOf(taskId: string): Span[] {
    const stays = this.stays.get(taskId) ?? []
    return stays.flatMap(({ deleted, projectId, before: from }) => {
      const next = stays.find((stay) => stay.projectId === projectId && stay.from > from)
      return deleted ? { projectId, from, before: next?.from ?? Infinity } : []
    })
  }

  private note(projectId: string, userId: string, seq: number, role: Role | null): void {
    const key = `${userId} ${projectId}`
    const spans = this.roles.get(key) ?? []
    const last = spans.at(-1)
    if (last) last.before = seq
    this.roles.set(key, [...spans, { projectId, from: seq, before: Infinity, role }])
  }
}

export function common(one: Span, other: Span): Span | undefined {
  const [from, before] = [Math.max(one.from, other.from), Math.min(one.before, other.before)]
  return one.projectId === other.projectId && from < before
    ? { projectId: one.projectId, from, before }
    : undefined
}
