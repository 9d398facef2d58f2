import { getTableName } from 'drizzle-orm'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { outbox } from '../../drizzle/schema/jobs.ts'
import { events } from '../../drizzle/schema/log.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf, model } from '../model/model.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { type CommitGroup, hasUnlogged, type CommitUnit, type RowWrite, rowWrites } from './unit.ts'

/** The writes of a group besides versions and events. Each shape has its own statement, without unused parts. */
export interface Shape {
  /** True if a unit changes two projects, or creates a project. */
  locksFirst: boolean
  /** True if units that would change a locked project write nothing. */
  skipsLocked: boolean
  writes: string[]
  unlogged: boolean
  jobs: boolean
  records: boolean
}

let known: string[] | undefined

const writable = (write: RowWrite) =>
  write === 'upsert'
    ? model().ofTask
    : model().all.filter(({ optionalColumns }) => write !== 'insert_plain' || optionalColumns)

const allWrites = () =>
  (known ??= rowWrites.flatMap((write) =>
    writable(write)
      .map(({ name }) => `${write} ${name}`)
      .sort(),
  ))

export function shapeOf(
  units: CommitUnit[],
  { heads, events, jobs, records }: CommitGroup,
  skipsLocked = false,
): Shape {
  const writes = new Set<string>()
  let unlogged = false
  for (const [n, { write, entity }] of events.entries()) {
    // Most events of a commit write their rows in the same way.
    if (write === events[n - 1]?.write && entity === events[n - 1]?.entity) continue
    writes.add(`${write} ${entity}`)
    unlogged ||= hasUnlogged(entity)
  }
  return {
    locksFirst: heads.length > units.length || heads.some(({ expected }) => expected === 0),
    skipsLocked,
    writes: allWrites().filter((one) => writes.has(one)),
    unlogged,
    jobs: jobs.length > 0,
    records: records.length > 0,
  }
}

/** Returns the shape that fits all groups of its kind. It has unused parts, which cost time in Postgres. */
export function widestShape({ locksFirst, skipsLocked, unlogged }: Shape): Shape {
  const writes = allWrites().filter((one) => unlogged || !hasUnlogged(one.split(' ')[1] as Entity))
  return { locksFirst, skipsLocked, writes, unlogged, jobs: true, records: true }
}

/** Leaves columns with a default to the database, so that the times of rows come from the database's clock. */
const outboxColumns = columnsOf(outbox).filter(({ hasDefault }) => !hasDefault)

/** The columns of an event that are parameters. `task_id` is derived from the row. */
const logged = columnsOf(events).filter(({ name }) => name !== 'task_id' && name !== 'told')

const parameters = (types: Record<string, string>): Column[] =>
  Object.entries({ unit: 'int', ...types }).map(([key, type]) => ({ key, name: key, type }))

const columns: Record<keyof CommitGroup, Column[]> = {
  heads: parameters({
    ...{ projectId: 'uuid', expected: 'bigint', expectedEventId: 'uuid' },
    ...{ version: 'bigint', lastNumber: 'int', lastEventId: 'uuid' },
  }),
  events: [...parameters({ write: 'text' }), ...logged],
  jobs: [...parameters({}), ...outboxColumns],
  records: parameters({ key: 'text' }),
}

const unloggedColumn = { key: 'unlogged', name: 'unlogged', type: 'jsonb' }

const columnsIn = ({ unlogged }: Shape, part: keyof CommitGroup): Column[] =>
  part === 'events' && unlogged ? [...columns.events, unloggedColumn] : columns[part]

const partsOf = (shape: Shape) =>
  (Object.keys(columns) as (keyof CommitGroup)[]).filter(
    (part) => part === 'heads' || part === 'events' || shape[part],
  )

export const parametersOf = (shape: Shape, group: CommitGroup): string[] =>
  partsOf(shape).flatMap((part) =>
    part === 'records'
      ? [...listsOf(columns.records, group.records), recordLines(group.records)]
      : listsOf(columnsIn(shape, part), group[part]),
  )

// The other columns of a record are one line of text, because an array for each of them would cost twice as much. No value
// contains the separator or a line break: values are printable, and bodies are JSON.

const inLine = ['scope', 'fingerprint', 'status', 'etag', 'body'] as const

const recordLines = (records: CommitGroup['records']): string =>
  records.map((record) => inLine.map((key) => record[key]).join('\x1f')).join('\n')

const fromLine = (key: (typeof inLine)[number]) => `split_part(line, e'\\x1f', ${inLine.indexOf(key) + 1})`

// Each column is one array parameter: reading it costs Postgres a quarter of reading values from JSON objects.

export const rowsFrom = (columns: Column[], first: number): string =>
  `select ${columns.map((column, i) => `${unnested(column, `$${first + i}`)} as "${column.key}"`).join(', ')}`

const unnested = ({ type }: Column, list: string) =>
  type === 'jsonb'
    ? `unnest(string_to_array(${list}, e'\\n', ''))::jsonb`
    : `unnest(${list}::text::${type}[])`

/** Columns of events whose texts contain no character that an array literal must quote. */
const words = new Set(['write', 'type', 'entity'])

/** Joins an array, because appending each value to a text costs a third more. */
export const listsOf = (columns: Column[], rows: object[]): string[] =>
  columns.map(({ key, type }) => {
    const isJson = type === 'jsonb'
    const textOf = isJson ? jsonOf : type === 'text' && !words.has(key) ? quoted : plain
    const texts = new Array<string>(rows.length)
    for (let n = 0; n < rows.length; n++) texts[n] = textOf((rows[n] as Record<string, unknown>)[key])
    return isJson ? texts.join('\n') : `{${texts.join()}}`
  })

/** JSON values are separated by line breaks, which JSON text never contains, so they need no quoting. */
const jsonOf = (value: unknown): string => (value == null ? '' : JSON.stringify(value))

/** Numbers, ids and times contain no character that an array literal must quote. */
const plain = (value: unknown): string => (value == null ? 'null' : String(value))

const special = /["\\]/
const allSpecial = /["\\]/g
function quoted(value: unknown): string {
  if (value == null) return 'null'
  const text = String(value)
  return `"${special.test(text) ? text.replace(allSpecial, '\\$&') : text}"`
}

const namesOf = (columns: Column[]) => columns.map(({ name }) => name).join(', ')
const keysOf = (columns: Column[]) => columns.map(({ key }) => `"${key}"`).join(', ')

const oneOf = (names: string[]) => `entity in (${names.map((name) => `'${name}'`)})`
const taskOfEvent = () => `case when entity = 'task' then "entityId"
    when ${oneOf(model().ofTask.map(({ name }) => name))} then (coalesce(after, before) ->> 'taskId')::uuid end`

const insertEvents = () => `logged as (insert into events (${namesOf(logged)}, task_id)
     select ${keysOf(logged)}, ${taskOfEvent()} from event)`

/**
 * A unit is committed only if all its projects have the expected version; other units write nothing. Projects are
 * locked in id order, so that two commits cannot deadlock. Each row is written as the `after` of its last event: the
 * tables are a projection of the events.
 */
export function commitStatement(shape: Shape, lockTimeoutMs: number): string {
  const { locksFirst, skipsLocked, writes, jobs, records } = shape
  const parts = [
    ...(records ? repeatedUnits(shape) : []),
    ...(locksFirst || skipsLocked ? lockAndSwap(shape, lockTimeoutMs) : [swap(headsOf(shape))]),
    `event as materialized (${rowsOfCommitted(shape, 'events')})`,
    insertEvents(),
    ...writes.map(rowWrite),
    ...(jobs ? [insertJobs(shape)] : []),
    ...(records ? [insertRecords] : []),
  ]
  return `with ${parts.join(',\n')}\nselect string_agg(unit::text, ' ') as committed from committed`
}

/** `is true` makes Postgres look up a row's commit unit in a hash table, and not compare the row with every unit. */
const isCommitted = '(unit in (select unit from committed)) is true'

/** Returns the number of the first SQL parameter of this part. */
function firstOf(shape: Shape, part: keyof CommitGroup): number {
  const parts = partsOf(shape)
  return parts.slice(0, parts.indexOf(part)).reduce((sum, other) => sum + columnsIn(shape, other).length, 1)
}

const rowsOfCommitted = (shape: Shape, part: keyof CommitGroup): string =>
  `select * from (${rowsFrom(columnsIn(shape, part), firstOf(shape, part))}) r where ${isCommitted}`

/**
 * Units write nothing if one of their keys or claimed ids is recorded already. The limit forces an index scan, even if
 * the statement was planned when the table was empty.
 */
function repeatedUnits(shape: Shape): string[] {
  const first = firstOf(shape, 'records')
  const lines = `unnest(string_to_array($${first + columns.records.length}, e'\\n')) as line`
  return [
    `record as materialized (select unit, ${fromLine('scope')} as scope, key, line
     from (${rowsFrom(columns.records, first)}, ${lines}) r)`,
    `repeated as materialized (select unit from record r where (
     select true from ${getTableName(idempotencyKeys)} k where k.scope = r.scope and k.key = r.key limit 1))`,
  ]
}

const heads = rowsFrom(columns.heads, 1)
const headsOf = ({ records }: Shape): string =>
  records ? `select * from (${heads}) h where (unit in (select unit from repeated)) is not true` : heads

const newVersion = (head: string) =>
  `version = ${head}.version, last_number = ${head}."lastNumber", last_event_id = ${head}."lastEventId"`

/**
 * Compare-and-swap in one step, for groups without new projects: the update waits for the row lock and then checks the
 * version again. Saves a fifth of the time that a single commit takes in Postgres.
 */
const swap = (heads: string) => `committed as (update streams s set ${newVersion('h')}
     from (${heads} order by "projectId") h where s.project_id = h."projectId"
     and s.version = h.expected and s.last_event_id = h."expectedEventId" returning h.unit)`

/**
 * For units of two projects and for new projects: locks all projects, compares all versions, and only then writes. With
 * `skipsLocked`, a unit with a project that another transaction has locked counts as a conflict, and the statement sets
 * the lock timeout itself: connections behind a pooler have none.
 */
const lockAndSwap = (shape: Shape, lockTimeoutMs: number) => [
  `head as materialized (${headsOf(shape)})`,
  `locked as materialized (select * from streams where project_id = any(array(select "projectId" from head))
     ${shape.skipsLocked ? `and (select set_config('lock_timeout', '${lockTimeoutMs}ms', true)) <> ''` : ''}
     order by project_id for update${shape.skipsLocked ? ' skip locked' : ''})`,
  `conflict as materialized (select h.unit from head h left join locked s on s.project_id = h."projectId"
     where coalesce(s.version, 0) <> h.expected or s.last_event_id <> h."expectedEventId")`,
  `committed as materialized (select * from head where unit not in (select unit from conflict))`,
  `swapped as (update streams s set ${newVersion('w')}
     from committed w where s.project_id = w."projectId" and w.expected > 0)`,
  `inserted as (insert into streams (project_id, version, last_number, last_event_id)
     select "projectId", version, "lastNumber", "lastEventId" from committed where expected = 0)`,
]

const insertJobs = (shape: Shape) =>
  `queued as (insert into ${getTableName(outbox)} (${namesOf(outboxColumns)})
    select ${keysOf(outboxColumns)} from (${rowsOfCommitted(shape, 'jobs')}) r)`

/** In the order of the keys, so that two commits with the same keys cannot deadlock. */
const insertRecords = `recorded as (
    insert into ${getTableName(idempotencyKeys)} (scope, key, fingerprint, status, etag, body)
    select scope, key, ${fromLine('fingerprint')}, ${fromLine('status')}::int, nullif(${fromLine('etag')}, ''), ${fromLine('body')}
    from record where ${isCommitted} order by scope, key)`

/** Columns whose values come from the event, and not from its row. */
const fromEvent: Record<string, string> = { id: 'e."entityId"', projectId: 'e."projectId"', eventId: 'e.id' }
const valueOf = ({ key }: Column) => fromEvent[key] ?? `r."${key}"`

function columnsFor(entity: Entity, write: RowWrite): Column[] {
  const { table, optionalColumns = [] } = definitionOf(entity)
  const left = write === 'insert_plain' ? optionalColumns : []
  return columnsOf(table).filter(({ key }) => !left.includes(key))
}

function eventRowsOf(entity: Entity, write: RowWrite): string {
  const others = columnsFor(entity, write).filter(({ key }) => !(key in fromEvent))
  const record = others.map(({ key, type }) => `"${key}" ${type}`).join(', ')
  const values = hasUnlogged(entity) ? `e.after || coalesce(e.unlogged, '{}')` : 'e.after'
  return `event e, jsonb_to_record(${values}) as r(${record}) where e.entity = '${entity}' and e.write = '${write}'`
}

function inserted(entity: Entity, write: RowWrite): string {
  const { table } = definitionOf(entity)
  const columns = columnsFor(entity, write)
  return `insert into ${getTableName(table)} as t (${namesOf(columns)})
    select ${columns.map(valueOf).join(', ')} from ${eventRowsOf(entity, write)}`
}

/**
 * Writes rows in the order of their ids, like the worker that deletes such rows, to avoid deadlocks. If the id belongs
 * to a row of another task, sets `task_id` to null on purpose: NOT NULL then makes Postgres reject the unit.
 */
const upsert = (entity: Entity) => {
  const others = columnsOf(definitionOf(entity).table).filter(({ key }) => key !== 'id' && key !== 'taskId')
  const assignments = others.map(({ name }) => `${name} = excluded.${name}`).join(', ')
  return `${inserted(entity, 'upsert')} order by e."entityId" on conflict (id) do update
    set ${assignments}, task_id = case when t.task_id = excluded.task_id then t.task_id end`
}

const update = (entity: Entity) => {
  const { table, unlogged = [] } = definitionOf(entity)
  const others = columnsOf(table).filter(({ key }) => key !== 'id')
  const unloggedValue = ({ key, name }: Column) =>
    `case when e.unlogged ? '${key}' then r."${key}" else t.${name} end`
  const value = (column: Column) => (unlogged.includes(column.key) ? unloggedValue(column) : valueOf(column))
  const assignments = others.map((column) => `${column.name} = ${value(column)}`).join(', ')
  return `update ${getTableName(table)} t set ${assignments}
    from ${eventRowsOf(entity, 'update')} and t.id = e."entityId"`
}

const remove = (entity: Entity) =>
  `delete from ${getTableName(definitionOf(entity).table)} t using event e
    where e.entity = '${entity}' and e.write = 'delete' and t.id = e."entityId"`

const writes: Record<RowWrite, (entity: Entity) => string> = {
  insert: (entity) => inserted(entity, 'insert'),
  insert_plain: (entity) => inserted(entity, 'insert_plain'),
  upsert,
  update,
  delete: remove,
}

function rowWrite(one: string): string {
  const [write, entity] = one.split(' ') as [RowWrite, Entity]
  return `${write}_${entity} as (${writes[write](entity)})`
}
