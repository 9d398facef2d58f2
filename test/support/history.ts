import { model } from '../../modules/modules.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, emptyContents } from './fold.ts'
import { childrenMovedIn, rowAfter, rowBefore } from '../../src/log/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'
import { readRows } from './stored-rows.ts'

type Row = Record<string, unknown> & { id: string }
type Fact = Omit<StoredEvent, 'before' | 'after'> & { before: Row | null; after: Row | null }
type Left = Pick<Fact, 'id' | 'after'>

export interface StoredLog {
  events: StoredEvent[]
  rows: { entity: Entity; row: Row }[]
  streams: { projectId: string; version: number | null; lastNumber: number | null }[]
}

/** Returns the faults in the history of the projects that still exist, in words. */
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
 * Holds a log to itself and to the rows: seq goes from 1 to the version and numbers from 1 to the last one, each fact builds
 * on the one before it, and folding the facts gives exactly the rows: all of them, and those of each project alone.
 * @param isWhole The events of deleted projects are there too.
 */
export function faultsIn({ events, rows, streams }: StoredLog, isWhole = false): string[] {
  const facts = inOrder(events).map(
    (event) => ({ ...event, before: rowBefore(event), after: rowAfter(event) }) as Fact,
  )
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const brought = new Map(events.flatMap(broughtBy).map((left) => [left.id, left]))
  const lives = [...Map.groupBy(facts, ({ entityId }) => entityId).values()]
  const followed = lives.map((life) => follow(life, brought, isWhole))
  const ends = followed.flatMap(({ end }): [string, Row][] =>
    end ? [[`${end.entity} ${end.entityId}`, end.after!]] : [],
  )
  return [
    ...[...histories].flatMap(([projectId, history]) => gapsIn(projectId, history)),
    ...streams.flatMap((stream) => behind(stream, histories.get(stream.projectId) ?? [])),
    ...followed.flatMap(({ faults }) => faults),
    ...compare(rows, new Map(ends)),
    ...faultsByProject({ events, rows }),
  ]
}

const inOrder = (events: StoredEvent[]) => events.toSorted((a, b) => a.seq - b.seq)

/** A task that moves in may come in several events, of which only the first found nothing; one that comes back has its number. */
const isArrival = ({ type, before, undoes }: Fact) =>
  (type === 'task.created' && undoes == null) || (type === 'task.moved_in' && !before)

const numbersIn = (history: Fact[]) => history.filter(isArrival).map(({ after }) => after!.number as number)

function gapsIn(projectId: string, history: Fact[]): string[] {
  const gaps = (what: string, numbers: number[]) =>
    numbers.flatMap((number, i) => {
      const expected = i > 0 ? numbers[i - 1]! + 1 : 1
      if (number === expected) return []
      return [`project ${projectId}: ${what} ${number} stands where ${expected} belongs`]
    })
  const seqs = history.map(({ seq }) => seq)
  return [...gaps('event', seqs), ...gaps('task number', numbersIn(history))]
}

/** A project that stands is at the version of its last event, and its next task gets the next number. */
function behind({ projectId, version, lastNumber }: StoredLog['streams'][number], history: Fact[]): string[] {
  const [last, number] = [history.at(-1)?.seq ?? 0, numbersIn(history).at(-1) ?? 0]
  const faults: string[] = []
  if (version !== last)
    faults.push(`project ${projectId} is at version ${version}, its last event is ${last}`)
  if (lastNumber !== number) faults.push(`project ${projectId} gave number ${number} and says ${lastNumber}`)
  return faults
}

/** What came with a task: the project that it came from, and its events, may be gone. */
function broughtBy(event: StoredEvent): Left[] {
  const rows = Object.values(childrenMovedIn(event) ?? {}).flat()
  return rows.map((row) => ({ id: row.eventId, after: row as unknown as Row }))
}

/** Follows one entity through the projects it lived in: the fact that none builds on says how its row is. */
function follow(life: Fact[], brought: Map<string, Left>, isWhole: boolean) {
  const byId = new Map(life.map((fact) => [fact.id, fact]))
  const builtUpon = new Set<string>()
  const faults: string[] = []
  let starts = 0
  for (const fact of life) {
    const { before, type, id } = fact
    const isBack = !before && fact.undoes != null
    const last = isBack ? latestOf(life.filter((one) => one.id < id)) : undefined
    const leftBy = (eventId: string): Left | undefined => byId.get(eventId) ?? brought.get(eventId)
    const previous = before ? leftBy(before.eventId as string) : (last ?? departureOf(fact, life))
    if (!before && type !== 'task.moved_in' && !isBack) starts++
    if (before && !isSame(before, previous?.after)) faults.push(`${type} ${id} does not build on its row`)
    // Of what went with its task, its own last fact is the only word.
    const went = last?.after ?? last?.before
    if (went && !isSame(withNamesOf(went, fact.after!), went, ['eventId']))
      faults.push(`${type} ${id} came back otherwise than it went`)
    if (previous && builtUpon.has(previous.id)) faults.push(`${type} ${id} and another build on the same row`)
    if (previous) builtUpon.add(previous.id)
  }
  const ends = life.filter(({ id, after }) => after && !builtUpon.has(id))
  const { entity, entityId } = life[0]!
  if (starts > 1 || ends.length > 1) faults.push(`${entity} ${entityId} stands twice`)
  if (isWhole && starts === 0) faults.push(`${entity} ${entityId} began nowhere`)
  const moves = (type: string) => life.filter((fact) => fact.type === type && !fact.before !== !fact.after)
  if (isWhole && moves('task.moved_out').length !== moves('task.moved_in').length)
    faults.push(`${entity} ${entityId} was moved by half`)
  return { faults, end: ends[0] }
}

/** Ids go on along a life, also from project to project. */
const latestOf = (facts: Fact[]): Fact | undefined => facts.sort((a, b) => (a.id < b.id ? -1 : 1)).at(-1)

/** The other half of a move: decided by the same process just before the arrival. */
function departureOf(arrival: Fact, facts: Fact[]): Fact | undefined {
  if (arrival.type !== 'task.moved_in') return undefined
  const before = facts.filter(
    ({ type, at, id }) => type === 'task.moved_out' && at === arrival.at && id < arrival.id,
  )
  return latestOf(before)
}

/** Returns the rows that differ from what the events of their own project alone give. */
export function faultsByProject({ events, rows }: Omit<StoredLog, 'streams'>): string[] {
  const histories = [...Map.groupBy(inOrder(events), ({ projectId }) => projectId).values()]
  const own = new Map(histories.flatMap(rowsOf))
  return compare(rows, own).map((fault) => `read by itself: ${fault}`)
}

/** The rows that a project's own events leave. */
function rowsOf(history: StoredEvent[]): [string, Row][] {
  const contents = history.reduce(fold, emptyContents()) as unknown as Record<Entity, Map<string, Row>>
  return model.names.flatMap((name) =>
    Array.from(contents[name].values(), (row): [string, Row] => [`${name} ${row.id}`, row]),
  )
}

function compare(rows: StoredLog['rows'], expected: Map<string, Row>): string[] {
  const isVisible = visibleIn(rows)
  const stored = new Map(rows.map(({ entity, row }) => [`${entity} ${row.id}`, row]))
  return [...new Set([...stored.keys(), ...expected.keys()])].flatMap((key) => {
    const [row, fact] = [stored.get(key), expected.get(key)]
    // What a deleted project or task left behind goes later.
    if (!isVisible(key.split(' ')[0]!, (row ?? fact)!) || isSame(row, fact)) return []
    if (!row) return [`${key} is lost: ${JSON.stringify(fact)}`]
    if (!fact) return [`${key} stands, its history says that it is gone`]
    return [`${key} is ${JSON.stringify(row)} and not ${JSON.stringify(fact)}`]
  })
}

/** Whether the project, task or account of a row is among these rows. */
export function visibleIn(rows: StoredLog['rows']) {
  const stored = new Map(rows.map(({ entity, row }) => [`${entity} ${row.id}`, row]))
  const isAlive = (projectId: unknown) => stored.has(`project ${String(projectId)}`)
  return (entity: string, row: Row): boolean => {
    if (entity === 'project') return true
    if (entity === 'token') return stored.has(`service_account ${row.userId as string}`)
    if (row.projectId) return isAlive(row.projectId)
    return isAlive(stored.get(`task ${row.taskId as string}`)?.projectId)
  }
}

/** Whether two rows are the same but for these fields, whichever order their fields are in. */
function isSame(one: Row | null | undefined, other: Row | null | undefined, but: string[] = []): boolean {
  const canonical = (row: Row | null | undefined) =>
    row
      ? JSON.stringify(
          Object.entries(row)
            .filter(([name]) => !but.includes(name))
            .sort(byName),
        )
      : ''
  return canonical(one) === canonical(other)
}

/** A row without the fields that another one does not have: there were fewer once. */
const withNamesOf = (other: Row, row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name in other)) as Row

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)
