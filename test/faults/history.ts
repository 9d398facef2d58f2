import type { Entity } from '../../src/model/entities.ts'
import type { Role } from '../../src/identity/rights.ts'
import type { LogEvent } from './evidence.ts'
import type { ListObservation } from './check-lists.ts'
import { viewOf } from './check-writes.ts'

export interface About {
  entity: Entity
  id: string
  /** Missing for tasks and their children: the log has their projects. */
  projectId?: string
  otherProjectId?: string
  taskId?: string
  userId?: string
}

export interface Request {
  kind: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  caller: { id: string; token: string }
  body?: Record<string, unknown>
  ifMatch?: string
  about: About
}

/** An attempt that ended without a final response: status 0 (no response), 429 or 503. */
export interface Failure {
  path: string
  web: number
  start: number
  end: number
  status: number
  reason: string
}

/** A request and its response. Times are from performance.now(), in milliseconds. */
export interface Operation extends Omit<Request, 'caller'> {
  callerId: string
  key: string
  start: number
  end: number
  status: number
  etag: string | null
  text: string
  replayed: boolean
  failures: Failure[]
}

export type Outcome = 'done' | 'rejected' | 'unknown'

export function outcomeOf({ status }: Pick<Operation, 'status'>): Outcome {
  if (status >= 200 && status < 300) return 'done'
  return status >= 400 && status < 500 ? 'rejected' : 'unknown'
}

/** The least share of operations with a response. A slower run compares too few responses with the log. */
const minKnownShare = 0.25

/** Returns how much a run proves: an operation without a response shows nothing but the event of its write. */
export function proofOf(operations: Pick<Operation, 'status'>[]) {
  const known = operations.filter((operation) => outcomeOf(operation) !== 'unknown').length
  const share = operations.length === 0 ? 0 : known / operations.length
  return { known, share, isEnough: share >= minKnownShare }
}

export const isWrite = ({ method }: Pick<Operation, 'method'>): boolean => method !== 'GET'

export const label = ({ kind, key, path, body }: Operation): string =>
  `${kind} ${key} ${path}${body ? ` ${JSON.stringify(body)}` : ''}`

export class History {
  readonly operations: Operation[] = []
  readonly invalidResponses: string[] = []
  /** Excludes attempts that a client with a short timeout gave up. */
  readonly failures: Failure[] = []
}

export interface Violation {
  check: string
  detail: string
}

export const violationsOf = (check: string, details: string[]): Violation[] =>
  details.map((detail) => ({ check, detail }))

export interface Bound {
  seq: number
  at: number
  because: string
}

/**
 * The earliest and latest time at which each version can have been created: not before the start of its request, not
 * while an older version was still read, and not after it was acknowledged or read. Versions are created in order, so
 * a lower bound of a version also holds for later versions, and an upper bound for earlier versions.
 */
export class Timeline {
  private readonly earliest: number[] = [-Infinity]
  private readonly latest: number[] = []
  /** Versions whose bounds contradict each other: the history is not linearizable. */
  readonly errors: string[] = []

  constructor(notBefore: Bound[], notAfter: Bound[]) {
    const last = [...notBefore, ...notAfter].reduce((max, { seq }) => Math.max(max, seq), 0)
    const lower = Map.groupBy(notBefore, ({ seq }) => seq)
    const upper = Map.groupBy(notAfter, ({ seq }) => seq)
    let tightest: Bound | undefined
    for (let seq = 1; seq <= last; seq++) {
      for (const bound of lower.get(seq) ?? []) if (!tightest || bound.at > tightest.at) tightest = bound
      this.earliest[seq] = tightest?.at ?? -Infinity
      for (const bound of upper.get(seq) ?? [])
        if (tightest && tightest.at > bound.at) this.errors.push(contradiction(bound, tightest))
    }
    for (let seq = last, least = Infinity; seq >= 0; seq--) {
      for (const { at } of upper.get(seq) ?? []) least = Math.min(least, at)
      this.latest[seq] = least
    }
  }

  overlaps(from: number, before: number, start: number, end: number): boolean {
    const began = this.earliest[Math.min(from, this.earliest.length - 1)] ?? -Infinity
    return began <= end && (this.latest[before] ?? Infinity) >= start
  }
}

const contradiction = (upper: Bound, lower: Bound) =>
  `version ${upper.seq} existed at ${ms(upper.at)} (${upper.because}), ` +
  `version ${lower.seq} did not exist before ${ms(lower.at)} (${lower.because})`

const ms = (at: number) => `${at.toFixed(1)} ms`

export class Bounds {
  private readonly projects = new Map<string, { notBefore: Bound[]; notAfter: Bound[] }>()

  created(projectId: string, seq: number, cause: Operation): void {
    this.observed({ projectId, from: seq, before: seq }, cause)
  }

  observed({ projectId, from, before }: VersionRange, operation: Operation): void {
    const project = this.projects.get(projectId) ?? { notBefore: [], notAfter: [] }
    this.projects.set(projectId, project)
    const because = label(operation)
    if (operation.end < Infinity) project.notAfter.push({ seq: from, at: operation.end, because })
    if (before < Infinity) project.notBefore.push({ seq: before, at: operation.start, because })
  }

  timelines(): Map<string, Timeline> {
    const all = [...this.projects].map(([id, { notBefore, notAfter }]) => {
      return [id, new Timeline(notBefore, notAfter)] as const
    })
    return new Map(all)
  }
}

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

/** A read, and the versions at which the returned row or list was current. */
export interface Observation {
  read: Operation
  range: VersionRange
}

export type EventIndex = ReturnType<typeof indexEvents>

export function indexEvents(events: LogEvent[]) {
  const byEtag = new Map(events.map((event) => [`"${event.id}"`, event]))
  const nextOf = new Map<string, LogEvent>()
  for (const event of events) if (event.before) nextOf.set(event.before.eventId, event)
  return {
    at: (etag: string | null | undefined) => byEtag.get(etag ?? ''),
    after: (event: LogEvent | undefined) => nextOf.get(event?.id ?? ''),
  }
}

export function observationsOfTasks(
  operations: Operation[],
  { at, after }: EventIndex,
): { errors: string[]; observations: Observation[] } {
  const reads = operations.filter((read) => read.kind === 'task.get' && outcomeOf(read) === 'done')
  const errors: string[] = []
  const observations: Observation[] = []
  for (const read of reads) {
    const event = at(read.etag)
    if (!event?.after || event.entityId !== read.about.id)
      errors.push(`${label(read)} returned the ETag ${read.etag} of no event of this task`)
    else if (viewOf('task', event.after) !== read.text)
      errors.push(`${label(read)} with ETag ${read.etag} returned ${read.text}`)
    else {
      const { projectId, seq: from } = event
      observations.push({ read, range: { projectId, from, before: after(event)?.seq ?? Infinity } })
    }
  }
  return { errors, observations }
}

/** A list gives two observations: the version in its ETag was the latest, and so was the version of its rows. */
export const observationsOfLists = (lists: ListObservation[]): Observation[] =>
  lists.flatMap(({ operation: read, version, range }) => [
    { read, range: { projectId: range.projectId, from: version, before: version + 1 } },
    { read, range },
  ])
