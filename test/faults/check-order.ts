import { keyOf } from '../../modules/order/keys.ts'
import { isAtLeast, type Role } from '../../src/identity/rights.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { type Contents, emptyContents, fold } from '../support/fold.ts'
import { differing } from './check-writes.ts'
import { eventJson, type Evidence, type LogEvent } from './evidence.ts'
import { eventIdIn, idsIn, label, type Operation, outcomeOf } from './history.ts'
import { listText } from './recorder.ts'

/** The state of a project at a version. */
interface State {
  seq: number
  contents: Contents
  history: LogEvent[]
  /** The type of the last event of each row of the project, also of deleted rows. */
  lastTypes: Map<string, string>
}

/** A read of a project, with what the read shows. */
interface Read {
  operation: Operation
  projectId: string
  shows(state: State): boolean
  /** The first version that explains the response. */
  seq?: number
}

type Causes = Map<string, Operation>

/**
 * Checks that the history of each project is linearizable in the order of its log: each write takes effect between its
 * start and its response, each response shows a state between its start and its end, and callers have the right to it. A
 * change to the values that a row already has writes no event, so its response counts as a read.
 */
export function checkOrder(operations: Operation[], { events, people }: Evidence, causes: Causes): string[] {
  const histories = Map.groupBy(events, ({ projectId }) => projectId)
  const index = { histories, people, causes, byId: new Map(events.map((event) => [event.id, event])) }
  const reads = operations.flatMap((operation) => readsOf(operation, index))
  const byProject = Map.groupBy(reads, ({ projectId }) => projectId)
  const byOperation = Map.groupBy(reads, ({ operation }) => operation)
  const errors = [...histories].flatMap(([projectId, history]) => {
    const own = byProject.get(projectId) ?? []
    // The second time, what an earlier read returned also counts as known, unless another project may explain the read.
    locate(own, history, timesOf(history, causes, []))
    const certain = own.filter(({ operation }) => byOperation.get(operation)!.length === 1)
    const times = timesOf(history, causes, certain)
    locate(own, history, times)
    return [
      ...lateWrites(history, causes, times),
      ...wronglyLogged(history, causes),
      ...writesWithoutRole(history, causes),
    ]
  })
  const unexplained = [...byOperation].filter(([, all]) => all.every(({ seq }) => seq === undefined))
  return [
    ...errors,
    ...unexplained.map(
      ([read]) => `${label(read)} returned ${read.status} ${read.text}, which was not so then`,
    ),
  ]
}

interface Times {
  /** The last version that a client knew, by a response, before this time. */
  known(at: number): number
  /** The last version whose request had begun at this time. */
  begun(at: number): number
}

function timesOf(history: LogEvent[], causes: Causes, reads: Read[]): Times {
  const responses = [
    ...history.map(({ id, seq }) => ({ at: causes.get(id)?.end ?? Infinity, seq })),
    ...reads.flatMap(({ operation: { end }, seq }) => (seq === undefined ? [] : { at: end, seq })),
  ].sort((a, b) => a.at - b.at)
  let seq = 0
  const known = responses.map((one) => ({ at: one.at, seq: (seq = Math.max(seq, one.seq)) }))
  let at = -Infinity
  const begun = history.map((event) => {
    at = Math.max(at, causes.get(event.id)?.start ?? -Infinity)
    return { at, seq: event.seq }
  })
  const lastOf = (all: typeof known, isBefore: (one: (typeof known)[number]) => boolean) => {
    let [from, to] = [0, all.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (isBefore(all[middle]!)) from = middle + 1
      else to = middle
    }
    return all[from - 1]?.seq ?? 0
  }
  return {
    known: (time) => lastOf(known, (one) => one.at < time),
    begun: (time) => lastOf(begun, (one) => one.at <= time),
  }
}

/** Finds for each read the first version between its start and its end that explains the response. */
function locate(reads: Read[], history: LogEvent[], times: Times): void {
  const windows = reads.map((read) => {
    const { start, end } = read.operation
    read.seq = undefined
    return { read, from: times.known(start), to: times.begun(end) }
  })
  const byStart = Map.groupBy(windows, ({ from }) => from)
  const state: State = { seq: 0, contents: emptyContents(), history, lastTypes: new Map() }
  let open = byStart.get(0) ?? []
  const close = () => {
    open = open.filter(({ read, to }) => {
      if (read.shows(state)) read.seq = state.seq
      return read.seq === undefined && to > state.seq
    })
  }
  close()
  for (const event of history) {
    fold(state.contents, event as unknown as StoredEvent)
    state.seq = event.seq
    state.lastTypes.set(event.entityId, event.type)
    open.push(...(byStart.get(event.seq) ?? []))
    close()
  }
}

function lateWrites(history: LogEvent[], causes: Causes, { known }: Times): string[] {
  return history.flatMap(({ id, seq }) => {
    const cause = causes.get(id)
    const isLate = cause && known(cause.start) >= seq
    return isLate ? [`${label(cause)} wrote event ${seq}, but later events were known before its start`] : []
  })
}

/**
 * Event ids and times must not go back. A comment that names a claim must be written while the claim lasts. A task must be
 * at the place that its request wanted.
 */
function wronglyLogged(history: LogEvent[], causes: Causes): string[] {
  const contents = emptyContents()
  return history.flatMap((event, n) => {
    fold(contents, event as unknown as StoredEvent)
    const { id, at, seq, type, undoes, after } = event
    const { id: idBefore = '', at: atBefore = '' } = history[n - 1] ?? {}
    const claim =
      type === 'comment.created' && undoes == null && /^claim (\d+)$/.exec(String(after?.text))?.[1]
    const task = contents.task.get(event.taskId ?? '')
    const cause = causes.get(id)
    const isOwn = after && event.entity === 'task' && cause && idsIn(cause.path)[0] === event.entityId
    const isHeld = String(task?.claimSeq) === claim && at < task!.claimedUntil!
    return [
      ...(id > idBefore && at >= atBefore ? [] : [`event ${seq} is older than the event before`]),
      ...(claim && !isHeld ? [`event ${seq} was written under claim ${claim}, which had ended`] : []),
      ...(isOwn && !isPlaced(contents, event.entityId, cause.body ?? {})
        ? [`${label(cause)} placed its task elsewhere`]
        : []),
    ]
  })
}

function isPlaced({ task }: Contents, id: string, { before, after, place }: Fields): boolean {
  if (!before && !after && !place) return true
  const order = [...task.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map((one) => one.id)
  const n = order.indexOf(id)
  if (place) return n === (place === 'first' ? 0 : order.length - 1)
  return before ? order[n + 1] === before : order[n - 1] === after
}

const roleIn = ({ project, member }: Contents, userId: string): Role | undefined => {
  if ([...project.values()].some(({ ownerId }) => ownerId === userId)) return 'OWNER'
  if (project.size === 0) return undefined
  return [...member.values()].find((one) => one.userId === userId)?.role as Role | undefined
}

function writesWithoutRole(history: LogEvent[], causes: Causes): string[] {
  const contents = emptyContents()
  return history.flatMap((event) => {
    const role = roleIn(contents, event.actorId)
    fold(contents, event as unknown as StoredEvent)
    const cause = causes.get(event.id)
    if (!cause || event.type === 'project.created') return []
    const required = event.entity === 'task' || event.entity === 'subtask' ? 'EDITOR' : 'VIEWER'
    const mayWrite = role && isAtLeast(role, required)
    return mayWrite ? [] : [`${label(cause)} wrote event ${event.seq} with the role ${role}`]
  })
}

interface Index {
  histories: Map<string, LogEvent[]>
  byId: Map<string, LogEvent>
  causes: Causes
  people: Evidence['people']
}

/** Returns what a response shows; nothing for responses that no version of the log can explain or contradict. */
function readsOf(operation: Operation, index: Index): Read[] {
  const { method, path, callerId, status, etag, text } = operation
  const isMember = ({ contents }: State) => roleIn(contents, callerId) !== undefined
  const read = (projectId: string, shows: Read['shows']): Read => ({ operation, projectId, shows })
  if (status === 404) return missingFrom(operation, index).map((id) => read(id, isMissing(operation)))
  if (status === 403 && !path.endsWith('/undo')) {
    const named = idsIn(path).filter((id) => index.histories.has(id))
    return named.map((id) => read(id, ({ contents }) => roleIn(contents, callerId) !== 'OWNER'))
  }
  const event = index.byId.get(eventIdIn(etag) ?? '')
  const isUnchanged =
    method === 'PATCH' &&
    /^\/tasks\/[^/]+$/.test(path) &&
    index.causes.get(event?.id ?? '')?.key !== operation.key
  if (!(method === 'GET' || isUnchanged) || outcomeOf(operation) !== 'done') return []
  const [id = ''] = idsIn(path)
  if (path.startsWith('/tasks?')) {
    const query = new URL(path, 'http://localhost').searchParams
    // The rows may be newer than the version in the ETag, and than the version at which the caller was authorized. A list
    // with claims has an ETag without a version.
    const version = Number(/^"(\d+)-/.exec(etag ?? '')?.[1] ?? 0)
    return [read(id, ({ seq, contents }) => version <= seq && listOf(contents, query) === text)]
  }
  if (/^\/tasks\/.*limit/.test(path)) {
    const shows = ({ contents }: State) =>
      childrenOf(contents, id, path) === childText(JSON.parse(text) as Fields[])
    return missingFrom(operation, index).map((projectId) => read(projectId, shows))
  }
  if (path.startsWith('/tasks/')) {
    const isShown = (task: Fields | undefined) =>
      task?.eventId === event?.id && differing(JSON.parse(text) as Fields, task!).length === 0
    const shows = (state: State) =>
      isMember(state) && isShown(state.contents.task.get(id) as Fields | undefined)
    return [read(event?.projectId ?? '', shows)]
  }
  if (!path.includes('/history')) return []
  const { length } = JSON.parse(text) as object[]
  const pageAt = ({ seq, history }: State) =>
    history.slice(Math.max(0, seq - length), seq).map((event) => eventJson(event, index.people))
  return [read(id, (state) => isMember(state) && text === `[${pageAt(state).toReversed().join()}]`)]
}

type Fields = Record<string, unknown>

const childText = (rows: Fields[]) =>
  JSON.stringify(rows.map(({ id, title, completed, text }) => [id, title, completed, text]))

function childrenOf({ subtask, comment }: Contents, taskId: string, path: string): string {
  const all = [...(path.includes('/subtasks') ? subtask : comment).values()]
  const own = all.filter((row) => row.taskId === taskId).sort((a, b) => (a.id < b.id ? -1 : 1))
  return childText(own as unknown as Fields[])
}

function listOf({ task }: Contents, query: URLSearchParams): string {
  const [status, isDescending] = [query.get('status'), query.get('sort') === '-createdAt']
  const rows = [...task.values()].filter((one) => !status || one.status === status)
  rows.sort((a, b) => (a.id < b.id !== isDescending ? -1 : 1))
  return listText(rows.slice(0, Number(query.get('limit'))))
}

/** Returns the projects in which a row of a request is or was. */
function missingFrom({ path, body }: Operation, { histories }: Index): string[] {
  const ids = idsIn(`${path} ${String(body?.projectId)}`)
  const isOf = ({ entityId, taskId }: LogEvent) => ids.includes(entityId) || ids.includes(taskId ?? '')
  return [...histories].flatMap(([id, history]) => (ids.includes(id) || history.some(isOf) ? id : []))
}

/** A row is missing for a caller without a role, and after a deletion; a task that moved is in another project. */
function isMissing({ path, callerId }: Operation) {
  const id = idsIn(path).at(-1)!
  const isChild = /\/(subtasks|comments)\/./.test(path)
  return ({ contents, lastTypes }: State): boolean => {
    if (roleIn(contents, callerId) === undefined) return true
    if (Object.values(contents).some((rows: Map<string, unknown>) => rows.has(id))) return false
    return isChild || (lastTypes.has(id) && lastTypes.get(id) !== 'task.moved_out')
  }
}
