import { taskView } from '../../modules/tasks/schema.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import { eventJson, type Evidence, type LogEvent } from './evidence.ts'
import { label, type Operation, outcomeOf } from './history.ts'
import { intersection, type RoleRange, StateRanges, type VersionRange } from './history.ts'
import { isAtLeast, type Role } from '../../src/identity/rights.ts'
import { type Attribution, isUndoDryRun, seqsOf, type Undo } from './check-writes.ts'
import { indexEvents, observationsOfLists, observationsOfTasks } from './history.ts'
import type { EventIndex, Observation } from './history.ts'
import { Bounds } from './history.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { faultsIn, visibleIn } from '../support/history.ts'
import { reasons } from '../../src/responses/errors.ts'

/** The version in the ETag of a list, and the versions at which the list has the returned rows. */
export interface ListObservation {
  operation: Operation
  version: number
  range: VersionRange
}

/** The rows of a list may be newer than the version in its ETag, never older. */
export function locateLists(
  operations: Operation[],
  events: LogEvent[],
): { errors: string[]; observations: ListObservation[] } {
  const reads = operations.filter((read) => read.kind === 'task.list' && outcomeOf(read) === 'done')
  const byProject = Map.groupBy(reads, ({ about }) => about.projectId as string)
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const observations = [...byProject].flatMap(([id, lists]) => locateIn(id, lists, histories.get(id) ?? []))
  const located = new Set(observations.map(({ operation }) => operation))
  const lost = reads.filter((read) => !located.has(read))
  return {
    observations,
    errors: lost.map(
      ({ path, etag }) => `GET ${path} with ETag ${etag} returned rows that no version of the project had`,
    ),
  }
}

function locateIn(projectId: string, reads: Operation[], history: LogEvent[]): ListObservation[] {
  const pending = Map.groupBy(reads, versionOf)
  const tasks = new Map<string, TaskRow>()
  let open: ListObservation[] = []
  const observations: ListObservation[] = []
  const renderer = rendererOf(tasks)
  for (const [at, { seq, entity, entityId, after }] of history.entries()) {
    const isChanged = entity === 'task'
    if (isChanged && after) tasks.set(entityId, after as unknown as TaskRow)
    else if (isChanged) tasks.delete(entityId)
    if (isChanged) renderer.clear()
    for (const operation of pending.get(seq) ?? [])
      open.push({ operation, version: seq, range: { projectId, from: Infinity, before: Infinity } })
    if (!isChanged && !pending.has(seq) && at > 0) continue
    open = open.filter((list) => {
      const isEqual = list.operation.text === renderer.list(list.operation.path)
      if (isEqual) list.range.from = Math.min(list.range.from, seq)
      else if (list.range.from < Infinity) list.range.before = seq
      if (list.range.before < Infinity) observations.push(list)
      return list.range.before === Infinity
    })
  }
  return [...observations, ...open.filter(({ range }) => range.from < Infinity)]
}

const versionOf = ({ etag }: Operation): number => Number(/^"(\d+)-[\w-]+"$/.exec(etag ?? '')?.[1])

function rendererOf(tasks: Map<string, TaskRow>) {
  const rendered = new Map<string, string>()
  const render = (path: string): string => {
    const query = new URL(path, 'http://localhost').searchParams
    const [status, isDescending] = [query.get('status'), query.get('sort') === '-createdAt']
    const rows = [...tasks.values()].filter((task) => !status || task.status === status)
    rows.sort((a, b) => (a.id < b.id !== isDescending ? -1 : 1))
    return digest(JSON.stringify(rows.slice(0, Number(query.get('limit'))).map((row) => taskView.of(row))))
  }
  return {
    clear: () => rendered.clear(),
    list(path: string): string {
      const text = rendered.get(path) ?? render(path)
      rendered.set(path, text)
      return text
    },
  }
}

export const digest = (text: string): string => Bun.hash(text).toString(36)

interface Input {
  events: LogEvent[]
  operations: Operation[]
  causes: Attribution['causes']
  lists: ListObservation[]
}

/** Whether one of these versions may have been the latest at some moment of the request. */
type Overlaps = (range: VersionRange, operation: Operation) => boolean

/**
 * Checks that each project's history is linearizable in the order of its log: every write takes effect between its
 * start and its response, and every read and rejection shows a state that was current between its start and its end.
 */
export function checkOrder({ events, operations, causes, lists }: Input): string[] {
  const bounds = new Bounds()
  for (const { id, projectId, seq } of events) {
    const cause = causes.get(id)
    if (cause) bounds.created(projectId, seq, cause)
  }
  const index = indexEvents(events)
  const { errors, observations } = observationsOfTasks(operations, index)
  const versions = observationsOfVersions(operations)
  const ofLists = observationsOfLists(lists)
  for (const { read, range } of [...observations, ...versions, ...ofLists]) bounds.observed(range, read)
  const timelines = bounds.timelines()
  const overlaps: Overlaps = ({ projectId, from, before }, { start, end }) =>
    timelines.get(projectId)?.overlaps(from, before, start, end) ?? true

  const states = new StateRanges(events)
  // The rows of a list may be newer than the version at which the reader was authorized.
  const anyVersion = { from: 0, before: Infinity }
  const widened = ofLists.map(({ read, range }) => ({ read, range: { ...range, ...anyVersion } }))
  const unauthorized = [...observations, ...versions, ...widened].filter(
    ({ read, range }) => !mayRead(read, range, states, overlaps),
  )
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const allowedRanges = (operation: Operation) =>
    operation.kind === 'undo' && operation.status !== 404
      ? undoRejectionRanges(operation, states, histories.get(operation.about.projectId!) ?? [])
      : rejectionRanges(operation, states, index)
  const isWrong = (operation: Operation) =>
    outcomeOf(operation) === 'rejected' &&
    !allowedRanges(operation).some((range) => overlaps(range, operation))
  return [
    ...[...timelines.values()].flatMap((timeline) => timeline.errors),
    ...errors,
    ...unauthorized.map(({ read }) => `${label(read)} was readable by ${read.callerId}, who is not a member`),
    ...events.flatMap((event) => roleError(event, causes.get(event.id), states) ?? []),
    ...operations.filter(isWrong).map((operation) => `${label(operation)} was rejected: ${operation.text}`),
  ]
}

const mayRead = (read: Operation, returned: VersionRange, states: StateRanges, overlaps: Overlaps): boolean =>
  states.rolesOf(read.callerId, returned.projectId).some((range) => {
    const both = range.role && intersection(range, returned)
    return both && overlaps(both, read)
  })

function roleError(event: LogEvent, cause: Operation | undefined, states: StateRanges): string | undefined {
  if (!cause || event.type === 'project.created') return undefined
  const role = states.roleAt(event)
  const required = /^(task|subtask)\./.test(cause.kind) || cause.kind === 'batch' ? 'EDITOR' : 'VIEWER'
  return role && isAtLeast(role, required)
    ? undefined
    : `${label(cause)} wrote event ${event.seq} with the role ${role}`
}

/** Checks that the events give the stored rows, and that workers deleted all rows of deleted projects and tasks. */
export function checkRows({
  events,
  rows,
  streams,
  projectsWithEvents,
}: Pick<Evidence, 'events' | 'rows' | 'streams' | 'projectsWithEvents'>): string[] {
  const isVisible = visibleIn(rows)
  const orphans = rows.filter(({ entity, row }) => !isVisible(entity, row))
  const isDeleted = (id: string) => !rows.some(({ entity, row }) => entity === 'project' && row.id === id)
  const left = streams.filter(({ projectId }) => isDeleted(projectId))
  return [
    ...faultsIn({ events: events as unknown as StoredEvent[], rows, streams }, true),
    ...orphans.map(({ entity, row }) => `${entity} ${row.id} is an orphan: ${JSON.stringify(row)}`),
    ...projectsWithEvents.filter(isDeleted).map((id) => `events of the deleted project ${id} remain`),
    ...left.map(({ projectId }) => `the stream of the deleted project ${projectId} remains`),
    ...assignedToNonMembers(rows),
  ]
}

function assignedToNonMembers(rows: Evidence['rows']): string[] {
  const members = new Set(
    rows.map(({ entity, row }) => {
      if (entity === 'project') return `${row.id} ${row.ownerId as string}`
      return entity === 'member' ? `${row.projectId as string} ${row.userId as string}` : ''
    }),
  )
  return rows
    .filter(({ entity, row }) => entity === 'task' && row.assigneeId)
    .filter(({ row }) => !members.has(`${row.projectId as string} ${row.assigneeId as string}`))
    .map(({ row }) => `task ${row.id} is assigned to ${row.assigneeId as string}, who is not a member`)
}

const isPage = (read: Operation) => read.kind === 'project.history' && outcomeOf(read) === 'done'

export function checkHistories(operations: Operation[], { events, people }: Evidence): string[] {
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const texts = new Map<string, string>()
  return operations.filter(isPage).flatMap((read) => {
    const history = histories.get(read.about.projectId!) ?? []
    const page = JSON.parse(read.text) as { seq: number; id: string }[]
    const newest = page[0]?.seq ?? 0
    const wrong = page.find((returned, i) => {
      const event = history[newest - i - 1]
      if (event && !texts.has(event.id)) texts.set(event.id, eventJson(event, people))
      return JSON.stringify(returned) !== texts.get(event?.id ?? '')
    })
    return wrong ? `${label(read)} returned ${JSON.stringify(wrong)}` : []
  })
}

/** The newest event of a first page, and the version in a dry run, were the latest at the time of the read. */
export function observationsOfVersions(operations: Operation[]): Observation[] {
  const observe = (read: Operation, from: number): Observation => {
    return { read, range: { projectId: read.about.projectId!, from, before: from + 1 } }
  }
  const dryRuns = operations.filter((operation) => isUndoDryRun(operation) && outcomeOf(operation) === 'done')
  return [
    ...operations
      .filter(isPage)
      .map((read) => observe(read, (JSON.parse(read.text) as { seq: number }[])[0]!.seq)),
    ...dryRuns.map((read) => observe(read, (JSON.parse(read.text) as { version: number }).version)),
  ]
}

/** Returns the versions at which the service may reject the request with its status; none if the rejection is wrong. */
export function rejectionRanges(
  operation: Operation,
  states: StateRanges,
  { at, after }: EventIndex,
): VersionRange[] {
  const { about, callerId, ifMatch, status } = operation
  const where = rangesOf(operation, states)
  const when = (userId: string | undefined, matches: (range: RoleRange) => boolean) =>
    where.flatMap((place) =>
      states
        .rolesOf(userId ?? '', place.projectId)
        .flatMap((range) => (matches(range) ? (intersection(place, range) ?? []) : [])),
    )
  if (status === 404) return [...when(callerId, ({ role }) => !role), ...deletedRangesOf(operation, states)]
  if (status === 403)
    return when(callerId, ({ role }) => role !== null && !isAtLeast(role, requiredRole(operation.kind)))
  if (status === 409) return when(about.userId, ({ role }) => role !== null)
  if (status === 400 && about.userId) return when(about.userId, ({ role }) => !role)
  if (status === 412 && ifMatch) {
    const event = after(at(ifMatch))
    return event ? [{ projectId: event.projectId, from: event.seq, before: Infinity }] : []
  }
  return []
}

const always = (projectId: string): VersionRange => ({ projectId, from: 0, before: Infinity })

function rangesOf({ about }: Operation, states: StateRanges): VersionRange[] {
  const named = [about.projectId, about.otherProjectId].flatMap((id) => (id ? [always(id)] : []))
  return [...named, ...(states.taskRanges.get(about.taskId ?? '') ?? [])]
}

const deletedRangesOf = ({ about }: Operation, states: StateRanges): VersionRange[] => [
  ...states.deletedRangesOf(about.taskId ?? ''),
  ...(states.deleted.get(about.id) ?? []),
]

/** The role that a request requires. The author of a comment may delete it with a lower role. */
function requiredRole(kind: string): Role {
  if (kind === 'project.delete') return 'OWNER'
  if (kind.startsWith('member.') || kind === 'project.patch' || kind === 'comment.delete') return 'ADMIN'
  return 'EDITOR'
}

/** Undos that return 403 or 409. The tests of the undo rules compare these rejections with a model. */
export function undoRejectionRanges(
  { about, body, callerId, status, text }: Operation,
  states: StateRanges,
  history: LogEvent[],
): VersionRange[] {
  const projectId = about.projectId!
  if (status === 403) return states.rolesOf(callerId, projectId).filter(({ role }) => role !== null)
  if (status !== 409) return []
  const { message } = JSON.parse(text) as { message: string }
  const conflict = /^Seq (\d+) .* by seq ([\d, ]+)$/.exec(message)
  if (!conflict) return [always(projectId)]
  const [target, ...later] = [conflict[1]!, ...conflict[2]!.split(', ')].map(Number) as [number, ...number[]]
  const isNamed = seqsOf(body as Undo, history).includes(target)
  const areRelated = later.every((seq) => seq > target && isRelated(history[seq - 1], history[target - 1]))
  return isNamed && areRelated ? [{ projectId, from: Math.max(...later), before: Infinity }] : []
}

function isRelated(one: LogEvent | undefined, other: LogEvent | undefined): boolean {
  if (!one || !other) return false
  const userId = ({ entity, before, after }: LogEvent) =>
    entity === 'member' ? (after ?? before)!.userId : undefined
  return (
    one.entityId === other.entityId ||
    (other.taskId !== null && one.taskId === other.taskId) ||
    (userId(one) !== undefined && userId(one) === userId(other))
  )
}

interface Response {
  status: number
  text: string
  headers: Headers
}

export function responseError(
  method: string,
  { status, text, headers }: Response,
  success = method === 'POST' ? 201 : 200,
): string | undefined {
  if (status === 0) return undefined
  if (status >= 200 && status < 300) return successError(success, status, text)
  if (!(status in reasons) || status === 500) return `returned ${status} ${text.slice(0, 200)}`
  const { statusCode, message, error, ...rest } = read(text)
  const hasShape = statusCode === status && typeof message === 'string' && typeof error === 'string'
  if (!hasShape || Object.keys(rest).length > 0)
    return `returned ${status} with the body ${text.slice(0, 200)}`
  if (status === 503 && !/^\d+$/.test(headers.get('retry-after') ?? ''))
    return 'returned 503 without Retry-After'
  return undefined
}

function successError(success: number, status: number, text: string): string | undefined {
  if (status !== success) return `returned ${status}`
  return text.startsWith('{') || text.startsWith('[') ? undefined : `returned ${status} ${text.slice(0, 200)}`
}

function read(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
