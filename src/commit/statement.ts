import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { entities, type Entity } from '../../drizzle/entities.ts'
import { idempotencyKeys } from '../../drizzle/schema/idempotency.ts'
import { outbox } from '../../drizzle/schema/jobs.ts'
import { events } from '../../drizzle/schema/log.ts'

/** What a batch contains beside the versions: the statement touches only these tables. */
export interface Shape {
  /** Some unit writes two projects: both, or neither. */
  joint: boolean
  /** Some project is new. */
  opens: boolean
  adds: Entity[]
  sets: Entity[]
  cuts: Entity[]
  jobs: boolean
  kept: boolean
}

/**
 * The group commit as one statement. `$1` heads: a unit's projects with the version they were decided on and the
 * one they take; `$2` events; then, where there are any, outbox rows and answers kept under Idempotency-Key. Each is a
 * JSON array, each element with its unit's number.
 *
 * A unit wins only when every one of its projects still has the expected version; what lost writes nothing. Projects
 * are locked in id order, so that two commits over the same ones never wait for each other in a circle. Rows are the
 * `after` of each row's last event: the tables are a projection of the very same facts.
 * Answers the numbers of the units that won, in one text.
 */
export function commitStatement({ joint, opens, adds, sets, cuts, jobs, kept }: Shape): string {
  return [
    ...(joint ? claimJointly : opens ? claimAndOpen : claim),
    `fact as materialized (select e.* from jsonb_to_recordset($2::text::jsonb) as
       e(unit int, how text, ${recordOf(columnsOf(events))}) where e.unit in (select unit from won))`,
    `logged as (insert into events (${namesOf(columnsOf(events))}) select ${keysOf(columnsOf(events))} from fact)`,
    ...adds.map(add),
    ...sets.map(set),
    ...cuts.map(cut),
    ...(jobs ? [insert('posted', outbox, 3)] : []),
    ...(kept ? [insert('noted', idempotencyKeys, jobs ? 4 : 3)] : []),
  ]
    .join(',\n')
    .concat(`\nselect string_agg(unit::text, ' ') as won from won`)
}

const heads = `select * from jsonb_to_recordset($1::text::jsonb) as
       (unit int, "projectId" uuid, expected bigint, "expectedEventId" uuid,
        version bigint, "lastNumber" int, "lastEventId" uuid)`

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

/** The rows of an entity that end like this, as they are in the end. */
const rowsOf = (entity: Entity, how: string) =>
  `fact f, jsonb_to_record(f.after) as r(${recordOf(columnsOf(entities[entity].table))})
    where f.entity = '${entity}' and f.how = '${how}'`

const add = (entity: Entity) => {
  const columns = columnsOf(entities[entity].table)
  return `add_${entity} as (insert into ${getTableName(entities[entity].table)} (${namesOf(columns)})
    select ${keysOf(columns, 'r.')} from ${rowsOf(entity, 'add')})`
}

const set = (entity: Entity) => {
  const { table } = entities[entity]
  const others = columnsOf(table).filter(({ name }) => name !== 'id')
  const assignments = others.map(({ key, name }) => `${name} = r."${key}"`).join(', ')
  return `set_${entity} as (update ${getTableName(table)} t set ${assignments}
    from ${rowsOf(entity, 'set')} and t.id = r.id)`
}

const cut = (entity: Entity) =>
  `cut_${entity} as (delete from ${getTableName(entities[entity].table)} where id = any(array(
    select "entityId" from fact where entity = '${entity}' and how = 'cut')))`

/** What has a default is left to the database: when a row came is judged by its clock too. */
const insert = (name: string, table: PgTable, parameter: number) => {
  const columns = columnsOf(table).filter(({ hasDefault }) => !hasDefault)
  return `${name} as (insert into ${getTableName(table)} (${namesOf(columns)}) select ${keysOf(columns)}
    from jsonb_to_recordset($${parameter}::text::jsonb) as r(unit int, ${recordOf(columns)})
    where unit in (select unit from won))`
}

interface Column {
  key: string
  name: string
  type: string
  hasDefault: boolean
}

function columnsOf(table: PgTable): Column[] {
  const written = Object.entries(getTableColumns(table)).filter(([, { generated }]) => !generated)
  return written.map(([key, column]) => {
    return { key, name: column.name, type: column.getSQLType(), hasDefault: column.hasDefault }
  })
}

/** Column names as the database has them. */
const namesOf = (columns: Column[]) => columns.map(({ name }) => name).join(', ')

/** The same columns as our JSON has them. */
const keysOf = (columns: Column[], prefix = '') => columns.map(({ key }) => `${prefix}"${key}"`).join(', ')

/** A record definition for jsonb_to_record: JSON keys with their SQL types. */
const recordOf = (columns: Column[]) => columns.map(({ key, type }) => `"${key}" ${type}`).join(', ')
