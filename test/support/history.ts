import { model } from '../../modules/modules.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { fold, nothing } from './fold.ts'
import { arrivedWith, rowAfter, rowBefore } from '../../src/log/rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventFields, eventRows } from '../../src/postgres/event-fields.ts'
import { storedRows as rowsIn } from './stored-rows.ts'

type Row = Record<string, unknown> & { id: string }
type Fact = Omit<StoredEvent, 'before' | 'after'> & { before: Row | null; after: Row | null }
/** A row, and the event that left it so. */
type Left = Pick<Fact, 'id' | 'after'>

/**
 * What is wrong with the history of the projects that still exist, in words; nothing if all is well: seq goes
 * from 1 to the version, each fact builds on the one before it, and folding the facts gives exactly the rows: all of them,
 * and those of each project alone.
 */
export async function faultsOf(sql: Sql): Promise<string[]> {
  const projects = await sql<{ id: string; version: number | null }[]>`
    select p.id, s.version::float8 as version from projects p left join streams s on s.project_id = p.id`
  const events = await sql<StoredEvent[]>`
    select ${eventFields(sql)}, ${eventRows(sql)} from events e
    where project_id in (select id from projects) order by e.project_id, e.seq`
  const facts = events.map(
    (event) => ({ ...event, before: rowBefore(event), after: rowAfter(event) }) as Fact,
  )
  const byProject = Map.groupBy(facts, ({ projectId }) => projectId)
  const brought = new Map(events.flatMap(broughtBy).map((left) => [left.id, left]))
  const chains = [...Map.groupBy(facts, ({ entityId }) => entityId).values()].map((own) =>
    follow(own, brought),
  )
  const sequence = projects.flatMap(({ id, version }) => {
    const seqs = (byProject.get(id) ?? []).map(({ seq }) => seq)
    const fits = version === seqs.length && seqs.every((seq, i) => seq === i + 1)
    return fits ? [] : [`project ${id} is at version ${version} with the events ${seqs}`]
  })
  const folded = chains.flatMap(({ end }) => (end ? [end] : []))
  const ends = new Map(folded.map(({ entity, after }) => [key(entity, after!.id), after!]))
  const stored = await storedRows(sql)
  const own = Map.groupBy(events, ({ projectId }) => projectId)
  const alone = compare(stored, new Map([...own.values()].flatMap(rowsOf)))
  return [
    ...[...sequence, ...chains.flatMap(({ faults }) => faults), ...compare(stored, ends)],
    ...alone.map((fault) => `read by itself: ${fault}`),
  ]
}

/** What came with a task: the project that it came from, and its events, may be gone. */
function broughtBy(event: StoredEvent): Left[] {
  const rows = Object.values(arrivedWith(event) ?? {}).flat()
  return rows.map((row) => ({ id: row.eventId, after: row as unknown as Row }))
}

/** Follows one entity through the projects it lived in: the fact that none builds on says how its row is. */
function follow(facts: Fact[], brought: Map<string, Left>): { faults: string[]; end: Fact | undefined } {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  const leftBy = (id: string): Left | undefined => byId.get(id) ?? brought.get(id)
  const followed = new Set<string>()
  const faults: string[] = []
  let starts = 0
  for (const fact of facts) {
    const { before, type, id } = fact
    const isBack = !before && fact.undoes != null
    const earlier = () => latestOf(facts.filter((one) => one.id < fact.id))
    const previous = before ? leftBy(before.eventId as string) : isBack ? earlier() : departureOf(fact, facts)
    if (!before && type !== 'task.moved_in' && !isBack) starts++
    if (before && !isSame(before, previous?.after)) faults.push(`${type} ${id} does not build on its row`)
    if (previous && followed.has(previous.id)) faults.push(`${type} ${id} and another build on the same row`)
    if (previous) followed.add(previous.id)
  }
  const ends = facts.filter(({ id, after }) => after && !followed.has(id))
  if (starts > 1 || ends.length > 1) faults.push(`${facts[0]!.entity} ${facts[0]!.entityId} stands twice`)
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

/** The rows that a project's own events leave. */
function rowsOf(history: StoredEvent[]): [string, Row][] {
  const contents = history.reduce(fold, nothing()) as unknown as Record<Entity, Map<string, Row>>
  return model.names.flatMap((name) =>
    Array.from(contents[name].values(), (row): [string, Row] => [key(name, row.id), row]),
  )
}

function compare(stored: Map<string, Row>, expected: Map<string, Row>): string[] {
  const isVisible = visibleIn(stored)
  const ids = new Set([...stored.keys(), ...expected.keys()])
  return [...ids].flatMap((id) => {
    const [row, fact] = [stored.get(id), expected.get(id)]
    // What a deleted project or task left behind goes later.
    if (!isVisible(id, (row ?? fact)!) || isSame(row, fact)) return []
    return [`${id} is ${JSON.stringify(row)} and not ${JSON.stringify(fact)}`]
  })
}

async function storedRows(sql: Sql): Promise<Map<string, Row>> {
  const stored = new Map<string, Row>()
  for (const entity of model.names)
    for (const row of await rowsIn<Row>(sql, entity)) stored.set(key(entity, row.id), row)
  return stored
}

function visibleIn(stored: Map<string, Row>) {
  const isAlive = (projectId: unknown) => stored.has(key('project', projectId as string))
  return (id: string, row: Row): boolean => {
    if (id.startsWith('project ')) return true
    if (id.startsWith('token ')) return stored.has(key('service_account', row.userId as string))
    if (row.projectId) return isAlive(row.projectId)
    return isAlive(stored.get(key('task', row.taskId as string))?.projectId)
  }
}

const key = (entity: Entity, id: string) => `${entity} ${id}`

const isSame = (one: Row | null | undefined, other: Row | null | undefined) =>
  canonical(one) === canonical(other)

const canonical = (row: Row | null | undefined) =>
  JSON.stringify(row && Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
