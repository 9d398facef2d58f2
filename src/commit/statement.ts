import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { outbox } from '../../drizzle/schema/jobs.ts'
import { events } from '../../drizzle/schema/log.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { keysOf, listsOf, namesOf, rowsFrom } from './lists.ts'
import { add, cut, put, set } from './projection.ts'
import { type Batch, hasUntold, type RowWrite, type CommitUnit } from './unit.ts'

/** What a batch contains beside the versions: the statement touches only these tables. */
export interface Shape {
  /** Some unit writes two projects: both, or neither. */
  joint: boolean
  opens: boolean
  /** How rows of which entities are written: `add task`. */
  writes: string[]
  untold: boolean
  jobs: boolean
  kept: boolean
}

const parts = { add, put, set, cut }

let known: string[] | undefined

/** All writes that a batch may contain, in the order of the statement. */
const allWrites = () =>
  (known ??= Object.keys(parts).flatMap((how) =>
    (how === 'put' ? model().ofTask : model().all).map(({ name }) => `${how} ${name}`).sort(),
  ))

export function shapeOf(units: CommitUnit[], { heads, facts, jobs, kept }: Batch): Shape {
  const writes = new Set(facts.map(({ how, entity }) => how && `${how} ${entity}`))
  return {
    joint: heads.length > units.length,
    opens: heads.some(({ expected }) => expected === 0),
    writes: allWrites().filter((one) => writes.has(one)),
    untold: facts.some(({ entity }) => hasUntold(entity)),
    jobs: jobs.length > 0,
    kept: kept.length > 0,
  }
}

/** The shape that fits every batch: it costs a batch the more, the less the batch contains. */
function widest({ joint, untold }: Shape): Shape {
  const writes = allWrites().filter((one) => untold || !hasUntold(one.slice(4) as Entity))
  return { joint, opens: true, writes, untold, jobs: true, kept: true }
}

export type Choose = (shape: Shape) => { shape: Shape; text: string }

/**
 * Chooses the statement for a batch. Each is prepared once on each connection, for good and at about 0.4 MiB there, and
 * batches have a hundred thousand shapes: the first `most` get a statement of their own.
 */
export function openShapes(most: number): Choose {
  const texts = new Map<string, string>()
  return (asked) => {
    const hasOwn = texts.has(JSON.stringify(asked)) || texts.size < most
    const shape = hasOwn ? asked : widest(asked)
    const key = JSON.stringify(shape)
    const text = texts.get(key) ?? commitStatement(shape)
    texts.set(key, text)
    return { shape, text }
  }
}

/** What has a default is left to the database: when a row came is judged by its clock too. */
const givenOf = (table: PgTable) => columnsOf(table).filter(({ hasDefault }) => !hasDefault)

/** What is told of an event: the task that it is about shows in its row. */
const logged = columnsOf(events).filter(({ name }) => name !== 'task_id' && name !== 'told')
const oneOf = (names: string[]) => `entity in (${names.map((name) => `'${name}'`)})`
const taskOfEvent = () => `case when entity = 'task' then "entityId"
    when ${oneOf(model().ofTask.map(({ name }) => name))} then (coalesce(after, before) ->> 'taskId')::uuid end`

/** Rows with columns that no event holds go into `told` alone. */
function log(untold: boolean): string {
  if (!untold)
    return `logged as (insert into events (${namesOf(logged)}, task_id)
     select ${keysOf(logged)}, ${taskOfEvent()} from fact)`
  const isTold = oneOf(model().all.flatMap(({ name, untold }) => (untold ? [name] : [])))
  const values = logged.map(({ key }) =>
    key === 'before' || key === 'after' ? `case when not ${isTold} then ${key} end` : `"${key}"`,
  )
  return `logged as (insert into events (${namesOf(logged)}, task_id, told)
     select ${values}, ${taskOfEvent()},
       case when ${isTold} then jsonb_build_object('before', before, 'after', after) end from fact)`
}

const given = (types: Record<string, string>): Column[] =>
  Object.entries({ unit: 'int', ...types }).map(([key, type]) => ({ key, name: key, type }))

const columns = {
  heads: given({
    ...{ projectId: 'uuid', expected: 'bigint', expectedEventId: 'uuid' },
    ...{ version: 'bigint', lastNumber: 'int', lastEventId: 'uuid' },
  }),
  facts: [...given({ how: 'text' }), ...logged],
  untold: given({ entityId: 'uuid', fields: 'jsonb' }),
  jobs: [...given({}), ...givenOf(outbox)],
  kept: [...given({}), ...givenOf(idempotencyKeys)],
}

const partsOf = (shape: Shape) =>
  (Object.keys(columns) as (keyof Batch)[]).filter(
    (part) => part === 'heads' || part === 'facts' || shape[part],
  )

export const parametersOf = (shape: Shape, batch: Batch): string[] =>
  partsOf(shape).flatMap((part) => listsOf(columns[part], batch[part]))

/**
 * The group commit as one statement. Its parameters are the lists of the heads (a unit's projects with the version they
 * were decided on and the one they take), of the events, and where there are any of columns that no event holds, of the outbox
 * rows and of the answers kept under Idempotency-Key.
 *
 * A unit wins only when every one of its projects still has the expected version; what lost writes nothing. Projects
 * are locked in id order, so that two commits over the same ones never wait for each other in a circle. Rows are the
 * `after` of each row's last event: the tables are a projection of the very same facts.
 * Answers the numbers of the units that won, in one text.
 */
function commitStatement(shape: Shape): string {
  const { joint, opens, writes, untold, jobs, kept } = shape
  return [
    ...(joint ? claimJointly : opens ? claimAndOpen : claim),
    `fact as materialized (${rowsOfWinners(shape, 'facts')})`,
    log(untold),
    ...(untold ? [`untold as materialized (${rowsOfWinners(shape, 'untold')})`] : []),
    ...writes.map((one) => parts[one.slice(0, 3) as RowWrite](one.slice(4) as never)),
    ...(jobs ? [insert('posted', outbox, rowsOfWinners(shape, 'jobs'))] : []),
    ...(kept ? [insert('noted', idempotencyKeys, rowsOfWinners(shape, 'kept'))] : []),
  ]
    .join(',\n')
    .concat(`\nselect string_agg(unit::text, ' ') as won from won`)
}

/** The units are looked up in a hash: a plain `in` would be joined, row by row over all units. */
function rowsOfWinners(shape: Shape, part: keyof Batch): string {
  const parts = partsOf(shape)
  const before = parts.slice(0, parts.indexOf(part)).reduce((sum, other) => sum + columns[other].length, 0)
  const rows = rowsFrom(columns[part], before + 1)
  return `select * from (${rows}) r where (unit in (select unit from won)) is true`
}

const heads = rowsFrom(columns.heads, 1)

const taken = (head: string) =>
  `version = ${head}.version, last_number = ${head}."lastNumber", last_event_id = ${head}."lastEventId"`

/** Compare and swap in one step: the update itself waits for the row and looks again at its version. */
const swap = (from: string) => `(update streams s set ${taken('h')}
     from (${from} order by "projectId") h where s.project_id = h."projectId"
     and s.version = h.expected and s.last_event_id = h."expectedEventId" returning h.unit)`

const open = (from: string) => `insert into streams (project_id, version, last_number, last_event_id)
     select "projectId", version, "lastNumber", "lastEventId" from ${from} where expected = 0`

/** Without what new projects need: that alone takes a fifth off a lone commit's time in Postgres. */
const claim = [`with won as ${swap(heads)}`]

const claimAndOpen = [
  `with head as materialized (${heads})`,
  `moved as ${swap('select * from head where expected > 0')}`,
  `opened as (${open('head')} on conflict do nothing returning project_id)`,
  `won as materialized (select unit from moved
     union all select unit from head join opened on project_id = "projectId")`,
]

/** For units of two projects: lock all, see who lost, and only then swap. */
const claimJointly = [
  `with head as materialized (${heads})`,
  `held as materialized (select * from streams
     where project_id = any(array(select "projectId" from head)) order by project_id for update)`,
  `lost as materialized (select h.unit from head h left join held s on s.project_id = h."projectId"
     where coalesce(s.version, 0) <> h.expected or s.last_event_id <> h."expectedEventId")`,
  `won as materialized (select * from head where unit not in (select unit from lost))`,
  `moved as (update streams s set ${taken('w')}
     from won w where s.project_id = w."projectId" and w.expected > 0)`,
  `opened as (${open('won')})`,
]

const insert = (name: string, table: PgTable, rows: string) =>
  `${name} as (insert into ${getTableName(table)} (${namesOf(givenOf(table))})
    select ${keysOf(givenOf(table))} from (${rows}) r)`
