import { getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { outbox } from '../../drizzle/schema/jobs.ts'
import { events } from '../../drizzle/schema/log.ts'
import type { ChildOfTask, Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import { type Column, columnsOf } from '../postgres/columns.ts'
import { keysOf, listsOf, namesOf, rowsFrom } from './lists.ts'
import { add, cut, put, set } from './projection.ts'

/** What a batch contains beside the versions: the statement touches only these tables. */
export interface Shape {
  /** Some unit writes two projects: both, or neither. */
  joint: boolean
  /** Some project is new. */
  opens: boolean
  adds: Entity[]
  /** Of what may stand already: rows go some time after the task that they hang on. */
  puts: ChildOfTask[]
  sets: Entity[]
  cuts: Entity[]
  /** Some rows have columns that no event holds. */
  untold: boolean
  jobs: boolean
  kept: boolean
}

/** The rows that a batch contains, each with its unit's number. */
export interface Batch {
  heads: object[]
  facts: object[]
  untold: object[]
  jobs: object[]
  kept: object[]
}

const column = (key: string, type: string): Column => ({ key, name: key, type })
const unit = column('unit', 'int')
/** What has a default is left to the database: when a row came is judged by its clock too. */
const givenOf = (table: PgTable) => columnsOf(table).filter(({ hasDefault }) => !hasDefault)

/** What is told of an event: the task that it is about shows in its row. */
const logged = columnsOf(events).filter(({ name }) => name !== 'task_id' && name !== 'told')
const oneOf = (names: string[]) => `entity in (${names.map((name) => `'${name}'`)})`
const taskOfEvent = () => `case when entity = 'task' then "entityId"
    when ${oneOf(model().ofTask.map(({ name }) => name))} then (coalesce(after, before) ->> 'taskId')::uuid end`

const log = () => `logged as (insert into events (${namesOf(logged)}, task_id)
     select ${keysOf(logged)}, ${taskOfEvent()} from fact)`

/** Rows with columns that no event holds go into `told` alone. */
function logWithTold(): string {
  const isTold = oneOf(model().all.flatMap(({ name, untold }) => (untold ? [name] : [])))
  const values = logged.map(({ key }) =>
    key === 'before' || key === 'after' ? `case when not ${isTold} then ${key} end` : `"${key}"`,
  )
  return `logged as (insert into events (${namesOf(logged)}, task_id, told)
     select ${values}, ${taskOfEvent()},
       case when ${isTold} then jsonb_build_object('before', before, 'after', after) end from fact)`
}

const columns = {
  heads: [
    unit,
    column('projectId', 'uuid'),
    column('expected', 'bigint'),
    column('expectedEventId', 'uuid'),
    column('version', 'bigint'),
    column('lastNumber', 'int'),
    column('lastEventId', 'uuid'),
  ],
  facts: [unit, column('how', 'text'), ...logged],
  untold: [unit, column('entityId', 'uuid'), column('fields', 'jsonb')],
  jobs: [unit, ...givenOf(outbox)],
  kept: [unit, ...givenOf(idempotencyKeys)],
}

/** What the statement for a shape takes, in its order. */
const partsOf = ({ untold, jobs, kept }: Shape): (keyof Batch)[] => [
  ...(['heads', 'facts'] as const),
  ...(untold ? (['untold'] as const) : []),
  ...(jobs ? (['jobs'] as const) : []),
  ...(kept ? (['kept'] as const) : []),
]

/** The parameters of the statement for a shape. */
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
export function commitStatement(shape: Shape): string {
  const { joint, opens, adds, puts, sets, cuts, untold, jobs, kept } = shape
  return [
    ...(joint ? claimJointly : opens ? claimAndOpen : claim),
    `fact as materialized (${rowsOfWinners(shape, 'facts')})`,
    untold ? logWithTold() : log(),
    ...(untold ? [`untold as materialized (${rowsOfWinners(shape, 'untold')})`] : []),
    ...adds.map(add),
    ...puts.map(put),
    ...sets.map(set),
    ...cuts.map(cut),
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
