import type { PgTable } from 'drizzle-orm/pg-core'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { outbox } from '../../drizzle/schema/jobs.ts'
import { events } from '../../drizzle/schema/log.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { type Batch, hasUnlogged, type CommitUnit, type RowWrite, rowWrites } from './unit.ts'

/** The writes of a batch besides versions and events. Each shape has its own statement, without unused parts. */
export interface Shape {
  /** A unit writes two projects, both or neither. */
  spansProjects: boolean
  hasNewProjects: boolean
  /** Units that would change a locked row write nothing. */
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
  { heads, events, jobs, records }: Batch,
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
    spansProjects: heads.length > units.length,
    hasNewProjects: heads.some(({ expected }) => expected === 0),
    skipsLocked,
    writes: allWrites().filter((one) => writes.has(one)),
    unlogged,
    jobs: jobs.length > 0,
    records: records.length > 0,
  }
}

/** Returns the shape that fits all batches of its kind. It has unused parts, which cost time in Postgres. */
export function widestShape({ spansProjects, skipsLocked, unlogged }: Shape): Shape {
  const writes = allWrites().filter((one) => unlogged || !hasUnlogged(one.split(' ')[1] as Entity))
  return { spansProjects, hasNewProjects: true, skipsLocked, writes, unlogged, jobs: true, records: true }
}

/** Leaves columns with a default to the database, so that the times of rows come from the database's clock. */
export const parameterColumns = (table: PgTable) => columnsOf(table).filter(({ hasDefault }) => !hasDefault)

/** The columns of an event that are parameters. `task_id` is derived from the row. */
export const logged = columnsOf(events).filter(({ name }) => name !== 'task_id' && name !== 'told')

const parameters = (types: Record<string, string>): Column[] =>
  Object.entries({ unit: 'int', ...types }).map(([key, type]) => ({ key, name: key, type }))

export const columns = {
  heads: parameters({
    ...{ projectId: 'uuid', expected: 'bigint', expectedEventId: 'uuid' },
    ...{ version: 'bigint', lastNumber: 'int', lastEventId: 'uuid' },
  }),
  events: [...parameters({ write: 'text' }), ...logged],
  unlogged: parameters({ entityId: 'uuid', fields: 'jsonb' }),
  jobs: [...parameters({}), ...parameterColumns(outbox)],
  records: [...parameters({}), ...parameterColumns(idempotencyKeys)],
}

export const partsOf = (shape: Shape) =>
  (Object.keys(columns) as (keyof Batch)[]).filter(
    (part) => part === 'heads' || part === 'events' || shape[part],
  )

export const parametersOf = (shape: Shape, batch: Batch): string[] =>
  partsOf(shape).flatMap((part) => listsOf(columns[part], batch[part]))

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

export const namesOf = (columns: Column[]) => columns.map(({ name }) => name).join(', ')
export const keysOf = (columns: Column[]) => columns.map(({ key }) => `"${key}"`).join(', ')
