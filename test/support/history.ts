import { model } from '../../modules/modules.ts'
import { noClaim } from '../../src/model/claims.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { emptyContents, fold } from './fold.ts'
import { childrenMovedIn, rowBefore } from '../../src/log/rows.ts'
import { rowAfter } from '../../src/model/model.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'
import { keyOf as sortKeyOf } from '../../modules/order/keys.ts'
import { readRows } from './stored-rows.ts'

type Row = Record<string, unknown> & { id: string }
type RowEvent = Omit<StoredEvent, 'before' | 'after'> &
  Record<'before' | 'after', Row | null> & { undoneId?: string }
type RowState = Pick<RowEvent, 'id' | 'after'>

export interface StoredLog {
  events: StoredEvent[]
  rows: { entity: Entity; row: Row }[]
  streams: { projectId: string; version: number | null; lastNumber: number | null }[]
}

/** Describes the faults in the logs of all existing projects. */
export async function faultsOf(sql: Sql): Promise<string[]> {
  const streams = await sql<StoredLog['streams'][number][]>`
    select p.id as project_id, s.version::float8 as version, s.last_number
    from projects p left join streams s on s.project_id = p.id`
  const events = await sql<StoredEvent[]>`
    select ${eventFields(sql)}, ${eventRows(sql)} from events e
    where project_id in (select id from projects) order by e.project_id, e.seq`
  return faultsIn({ events, rows: await readRows(sql), streams })
}

/**
 * Checks that seqs and task numbers have no gaps, that each event continues the row that the previous event left, and
 * that folding the events gives the stored rows. `isComplete`: the log includes the events of deleted projects.
 */
export function faultsIn({ events, rows, streams }: StoredLog, isComplete = false): string[] {
  const ids = new Map(events.map(({ projectId, seq, id }) => [`${projectId} ${seq}`, id]))
  const rowEvents = inOrder(events).map((event) => {
    const undoneId = ids.get(`${event.projectId} ${event.undoes}`)
    return { ...event, before: rowBefore(event), after: rowAfter(event), undoneId } as RowEvent
  })
  const byProject = Map.groupBy(rowEvents, ({ projectId }) => projectId)
  const moved = new Map(events.flatMap(movedRows).map((state) => [state.id, state]))
  const changing = rowEvents.filter(({ type }) => type !== 'task.ready')
  const byEntity = [...Map.groupBy(changing, ({ entityId }) => entityId).values()]
  const checked = byEntity.map((own) => checkEntity(own, moved, isComplete))
  const lastRows = checked.flatMap(({ last }) => (last ? [[keyOf(last), last.after!] as const] : []))
  return [
    ...[...byProject].flatMap(([projectId, history]) => gapsIn(projectId, history)),
    ...streams.flatMap((stream) => streamFaults(stream, byProject.get(stream.projectId) ?? [])),
    ...checked.flatMap(({ faults }) => faults),
    ...compareRows(rows, new Map(lastRows)),
    ...faultsByProject({ events, rows }),
    ...taskFaults(rows.flatMap(({ entity, row }) => (entity === 'task' ? [row as unknown as TaskRow] : []))),
  ]
}

const keyOf = ({ entity, entityId }: RowEvent) => `${entity} ${entityId}`
const inOrder = (events: StoredEvent[]) => events.toSorted((a, b) => a.seq - b.seq)

/** Whether the event assigns a new number to a task: not an undo of a deletion, nor a later event of one move. */
const isNumbered = ({ type, before, undoes }: RowEvent) =>
  (type === 'task.created' && undoes == null) || (type === 'task.moved_in' && !before)

const numbersIn = (history: RowEvent[]) =>
  history.filter(isNumbered).map(({ after }) => after!.number as number)

function gapsIn(projectId: string, history: RowEvent[]): string[] {
  const gaps = (what: string, numbers: number[]) =>
    numbers.flatMap((number, i) => {
      const expected = (numbers[i - 1] ?? 0) + 1
      return number === expected
        ? []
        : [`project ${projectId} has ${what} ${number} where ${expected} is expected`]
    })
  const seqs = history.map(({ seq }) => seq)
  return [...gaps('event', seqs), ...gaps('task number', numbersIn(history))]
}

/** The stored version must be the seq of the last event, and the stored number the number of the last task. */
function streamFaults(stream: StoredLog['streams'][number], history: RowEvent[]): string[] {
  const { projectId, version, lastNumber } = stream
  const [last, number] = [history.at(-1)?.seq ?? 0, numbersIn(history).at(-1) ?? 0]
  const faults: string[] = []
  if (version !== last)
    faults.push(`project ${projectId} has version ${version}, but its last event is ${last}`)
  if (lastNumber !== number)
    faults.push(`project ${projectId} has the last task number ${lastNumber}, but its log has ${number}`)
  return faults
}

/** Returns the children that moved with a task. The events of the project that they left may be deleted. */
function movedRows(event: StoredEvent): RowState[] {
  const rows = Object.values(childrenMovedIn(event) ?? {}).flat()
  return rows.map((row) => ({ id: row.eventId, after: row as unknown as Row }))
}

/** Fields that an undo may restore with other values: claims end, and another task may have the sort key. */
const adjusted = ['eventId', 'position', ...Object.keys(noClaim)]

const isImportedChild = ({ type, batch, undoes }: RowEvent) =>
  /^(subtask|comment)\.created$/.test(type) && batch != null && undoes == null

/** Checks the events of one entity in all projects; the last event is the one that no other continues. */
function checkEntity(own: RowEvent[], moved: Map<string, RowState>, isComplete: boolean) {
  const byId = new Map(own.map((event) => [event.id, event]))
  const continued = new Set<string>()
  const faults: string[] = []
  let starts = 0
  for (const event of own) {
    const { before, type, id, undoneId = id } = event
    const isRestored = !before && event.undoes != null
    const latest = before ? undefined : latestOf(own.filter((one) => one.id < id))
    // An import may create a child again that was deleted.
    const isAgain = latest?.after === null && isImportedChild(event)
    const deletion = isRestored || isAgain ? latest : undefined
    const stateAt = (eventId: string): RowState | undefined => byId.get(eventId) ?? moved.get(eventId)
    const previous = before ? stateAt(before.eventId as string) : (deletion ?? departureOf(event, own))
    if (!before && type !== 'task.moved_in' && !isRestored && !isAgain) starts++
    if (before && !isSame(before, previous?.after))
      faults.push(`${type} ${id} does not start from the row that the previous event left`)
    // A row that was deleted with its task has no deletion event, so its last event before the undone event counts.
    const undone = isRestored && latestOf(own.filter((one) => one.id <= undoneId && one !== event))
    const lost = undone && (undone.after ?? undone.before)
    if (lost && !isSame(onlyFieldsOf(lost, event.after!), lost, adjusted))
      faults.push(`${type} ${id} restored a row that differs from the deleted row`)
    if (previous && continued.has(previous.id))
      faults.push(`${type} ${id} and another event both change the same version of a row`)
    if (previous) continued.add(previous.id)
  }
  const ends = own.filter(({ id, after }) => after && !continued.has(id))
  const key = keyOf(own[0]!)
  if (starts > 1 || ends.length > 1) faults.push(`${key} was created twice, or has two latest events`)
  if (isComplete && starts === 0) faults.push(`${key} has no event that created it`)
  const moves = (type: string) => own.filter((event) => event.type === type && !event.before !== !event.after)
  if (isComplete && moves('task.moved_out').length !== moves('task.moved_in').length)
    faults.push(`${key} has different numbers of task.moved_out and task.moved_in events`)
  return { faults, last: ends[0] }
}

/** Compares ids, because event ids are ordered, also across projects. */
const latestOf = (events: RowEvent[]): RowEvent | undefined =>
  events.sort((a, b) => (a.id < b.id ? -1 : 1)).at(-1)

/** Returns the event by which the task left its previous project: the same command made both events. */
function departureOf(arrival: RowEvent, events: RowEvent[]): RowEvent | undefined {
  if (arrival.type !== 'task.moved_in') return undefined
  const { at, id } = arrival
  return latestOf(events.filter((one) => one.type === 'task.moved_out' && one.at === at && one.id < id))
}

export function faultsByProject({ events, rows }: Omit<StoredLog, 'streams'>): string[] {
  const histories = [...Map.groupBy(inOrder(events), ({ projectId }) => projectId).values()]
  const expected = new Map(histories.flatMap(foldedRows))
  return compareRows(rows, expected).map((fault) => `events of each project folded separately: ${fault}`)
}

function foldedRows(history: StoredEvent[]): [string, Row][] {
  const contents = history.reduce(fold, emptyContents()) as unknown as Record<Entity, Map<string, Row>>
  return model.names.flatMap((name) =>
    Array.from(contents[name].values(), (row): [string, Row] => [`${name} ${row.id}`, row]),
  )
}

const byKey = (rows: StoredLog['rows']) =>
  new Map(rows.map(({ entity, row }) => [`${entity} ${row.id}`, row]))

function compareRows(rows: StoredLog['rows'], expected: Map<string, Row>): string[] {
  const isVisible = visibleIn(rows)
  const stored = byKey(rows)
  return [...new Set([...stored.keys(), ...expected.keys()])].flatMap((key) => {
    const [row, logged] = [stored.get(key), expected.get(key)]
    // Workers delete the rows of a deleted project or task later.
    if (!isVisible(key.split(' ')[0]!, (row ?? logged)!) || isSame(row, logged)) return []
    if (!row) return [`${key} is not stored, but the log has ${JSON.stringify(logged)}`]
    if (!logged) return [`${key} is stored, but the log has no such row`]
    return [`${key} is stored as ${JSON.stringify(row)}, but the log has ${JSON.stringify(logged)}`]
  })
}

/** Returns a function that checks whether the project, task or account that a row belongs to is in `rows`. */
export function visibleIn(rows: StoredLog['rows']) {
  const stored = byKey(rows)
  const isAlive = (projectId: unknown) => stored.has(`project ${String(projectId)}`)
  return (entity: string, row: Row): boolean => {
    if (entity === 'project') return true
    if (entity === 'token') return stored.has(`service_account ${row.userId as string}`)
    if (row.projectId) return isAlive(row.projectId)
    return isAlive(stored.get(`task ${row.taskId as string}`)?.projectId)
  }
}

/** Events that an earlier release wrote have fewer fields. */
const onlyFieldsOf = (other: Row, row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name in other)) as Row

/** Compares rows. An absent field equals null. */
function isSame(one: Row | null | undefined, other: Row | null | undefined, except: string[] = []): boolean {
  const fieldsOf = (row: Row) =>
    Object.entries(row).filter(([name, value]) => value !== null && !except.includes(name))
  const [first, second] = [one, other].map((row) => (row ? JSON.stringify(fieldsOf(row).sort()) : undefined))
  return first === second
}

const maxKeyLength = 64

/** Describes sort keys of two tasks of a project, keys that are too long, and cycles of blockers. */
function taskFaults(tasks: TaskRow[]): string[] {
  const byKey = Map.groupBy(tasks, (task) => `${task.projectId} ${sortKeyOf(task)}`)
  const same = [...byKey].filter(([, { length }]) => length > 1)
  const long = tasks.filter((task) => sortKeyOf(task).length > maxKeyLength)
  // Tasks without blockers are removed repeatedly. The tasks that remain are in a cycle, or are blocked by one.
  const left = new Map(tasks.map((task) => [task.id, task]))
  const isBlocked = ({ projectId, blockedByIds }: TaskRow) =>
    blockedByIds?.some((id) => left.get(id)?.projectId === projectId)
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const [id, task] of left) if (!isBlocked(task)) left.delete(id)
  }
  return [
    ...same.map(([key, { length }]) => `${length} tasks have the sort key ${key}`),
    ...long.map((task) => `the sort key ${sortKeyOf(task)} of task ${task.id} is too long`),
    ...Array.from(left.keys(), (id) => `task ${id} is in a cycle of blockers, or is blocked by one`),
  ]
}
