import { getTableName } from 'drizzle-orm'
import { type TSchema, Type } from '@sinclair/typebox'
import { canonicalId, isId } from '../../src/id-format.ts'
import type { Snapshot } from '../../src/log/as-of.ts'
import { rowSources, unionOf } from '../../src/log/rows-at.ts'
import { definitionOf } from '../../src/model/model.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { checked, IdOf, isCount } from '../../src/schema/input.ts'
import { sampleId } from '../../src/schema/response.ts'
import { isReady } from '../tasks/ready.ts'
import { taskFields } from '../tasks/schema.ts'
import { type Matching, matchesTask } from '../search/find.ts'
import { columnOf, type FieldParameter, type TaskFilter } from './sorts.ts'
import type { FieldRow } from '../../drizzle/rows.ts'
import { storedForm } from '../fields/values.ts'

/** SQL for an array of the `ids` that exist in the project of the task `t`, now or at the snapshot. */
function existing(sql: Sql, entity: 'task' | 'label', ids: string[] | SqlPart, snapshot?: Snapshot): SqlPart {
  const areFixed = Array.isArray(ids)
  const isWanted = sql`r.id = any(${areFixed ? sql`${ids}::uuid[]` : ids})`
  if (!snapshot) {
    const table = sql(getTableName(definitionOf(entity).table))
    return sql`array(select r.id from ${table} r where ${isWanted} and r.project_id = t.project_id)`
  }
  // The array does not depend on `t`, so that the events after the snapshot are read once and not for each task.
  const one = areFixed && entity === 'task' ? ids[0] : undefined
  const idsIn = (source: SqlPart) => sql`select r.id from ${source} r
    where r.project_id = ${snapshot.projectId} ${areFixed ? sql`and ${isWanted}` : sql``}`
  return sql`array(${unionOf(sql, rowSources(sql, entity, snapshot, one), idsIn)})`
}

interface Scope {
  caller: string
  snapshot?: Snapshot
}

/** A filter of the list that has no index in the order of the list. */
interface Filter<Value> {
  /** Missing for a filter by a field of a task: the declaration of the field has the parameter. */
  parameter?: TSchema
  /** Returns the value of the parameter. @throws HttpError 400 */
  read?(text: string, callerId: string): Value
  /** SQL for a condition on a task `t` that an index serves: few tasks match. */
  indexed?(sql: Sql, value: Value, scope: Scope): SqlPart | undefined
  /** SQL for a condition on a task `t` that is evaluated for every task of a scan. */
  scanned?(sql: Sql, value: Value, scope: Scope): SqlPart
  /** SQL that limits projects `p` to projects with matching tasks. */
  projects?(sql: Sql, value: Value): SqlPart
  needsProject?: true | undefined
  /** True if the list changes when a claim ends, which does not change the version of the project. */
  dependsOnTime?: true
}
const filter = <Value>(one: Filter<Value>) => one as Filter<never>

/** The maximum number of ids in `labels` and `anyLabel`. */
const maxLabels = 50

const isIdList = (value: unknown) => {
  const ids = typeof value === 'string' ? value.split(',') : []
  return ids.length >= 1 && ids.length <= maxLabels && ids.every((id) => isId(canonicalId(id)))
}

/** @param which how many of these labels the tasks have */
const ofLabels = (which: string, scanned: Filter<string[]>['scanned']) =>
  filter<string[]>({
    parameter: checked<string>(isIdList, {
      type: 'string',
      description: `Ids of labels, separated by commas, at most ${maxLabels}: lists the tasks with ${which} of these labels`,
      examples: [sampleId],
    }),
    read: (text) => [...new Set(text.split(',').map(canonicalId))],
    scanned,
    projects: (sql, ids) =>
      sql`and p.id = any(array(select project_id from labels where id = any(${ids}::uuid[])))`,
  })

const isTrue = (value: unknown) => value === 'true'
const True = (description: string) =>
  checked<'true'>(isTrue, { type: 'string', enum: ['true'], description: `true: ${description}` })

export const badBlocks = () => badRequest('blocks must be the id of a task')
export const badClaimedBy = () => badRequest('claimedBy must be the id of a user, "me" or "none"')

function idOr(error: () => Error, text: string): string {
  const id = canonicalId(text)
  if (!isId(id)) throw error()
  return id
}

/** A claim expires with time. In a snapshot, a claim is live until the log contains the event that ends the claim. */
const isLive = (sql: Sql, { snapshot }: Scope) => (snapshot ? sql`true` : sql`t.claimed_until > now()`)

const nobody = 'none'

/** The filters by a field that is not in the indexes of the list. */
const ofFields = taskFields.flatMap(([name, field]) => {
  const { index, needsProject } = field.filter ?? {}
  if (!index || index === 'sorted') return []
  // Compares as doubles, because a number may exceed the type of the column.
  const cast = index !== 'own' && field.kind?.key?.type === 'float8' ? '::float8' : ''
  const isEqual = (sql: Sql, value: string) =>
    sql`${sql.unsafe(columnOf(name) + cast)} = ${value}${sql.unsafe(cast)}`
  const read = (text: string, callerId: string) => field.kind!.read(text, name, callerId) as string
  const condition = index === 'own' ? { indexed: isEqual } : { scanned: isEqual }
  return [[name, filter({ read, ...condition, needsProject })] as const]
})

/** The filters by the name of their parameter. Searches find `foundIds` and `matching`. */
export const filters: Record<string, Filter<never>> = {
  blocks: filter<string>({
    parameter: Type.Unsafe<string>({
      ...IdOf('task'),
      description: 'The id of a task: lists the tasks that it blocks',
    }),
    read: (text) => idOr(badBlocks, text),
    indexed: (sql, id, { snapshot }) =>
      sql`t.blocked_by_ids @> ${[id]}::uuid[] and ${id}::uuid = any(${existing(sql, 'task', [id], snapshot)})`,
  }),
  claimedBy: filter<string>({
    parameter: Type.String({
      maxLength: 100,
      description:
        'The id of a user, "me" or "none": lists the tasks that this user has claimed, or that nobody has claimed now',
      examples: ['me'],
    }),
    read: (text, callerId) =>
      text === nobody ? nobody : text === 'me' ? callerId : idOr(badClaimedBy, text),
    indexed: (sql, userId) => (userId === nobody ? undefined : sql`t.claimed_by = ${userId}`),
    // Not in `indexed`, so that Postgres does not choose the index of the ends of all claims.
    scanned: (sql, userId, scope) =>
      userId === nobody ? sql`(t.claimed_by is null or not ${isLive(sql, scope)})` : isLive(sql, scope),
    dependsOnTime: true,
  }),
  ...Object.fromEntries(ofFields),
  minAttempts: filter<string>({
    parameter: checked<string>(isCount, {
      ...{ type: 'integer', minimum: 0, examples: [3] },
      description: 'A whole number from 0: lists the tasks with at least this many attempts',
    }),
    read: (text) => text,
    // The first condition makes Postgres use the index of the tasks with attempts.
    indexed: (sql, least) =>
      Number(least) === 0 ? undefined : sql`t.attempts > 0 and t.attempts >= ${least}::bigint`,
  }),
  foundIds: filter<string[]>({ indexed: (sql, ids) => sql`t.id = any(${ids}::uuid[])` }),
  labels: ofLabels(
    'all',
    (sql, ids, { snapshot }) => sql`(t.label_ids @> ${ids}::uuid[]
    and cardinality(${existing(sql, 'label', ids, snapshot)}) = ${ids.length})`,
  ),
  anyLabel: ofLabels(
    'at least one',
    (sql, ids, { snapshot }) => sql`(t.label_ids && ${ids}::uuid[]
    and t.label_ids && ${existing(sql, 'label', ids, snapshot)})`,
  ),
  noLabel: filter<true>({
    parameter: True('lists the tasks without labels'),
    read: () => true,
    scanned: (sql, _, { snapshot }) => sql`(t.label_ids is null
      or not t.label_ids && ${existing(sql, 'label', sql`t.label_ids`, snapshot)})`,
  }),
  ready: filter<true>({
    parameter: True(
      'lists the tasks that are not DONE, that nobody else has claimed, and whose blockers are DONE or deleted',
    ),
    read: () => true,
    scanned: (sql, _, { caller, snapshot }) => isReady(sql, { holder: caller, snapshot }),
    dependsOnTime: true,
  }),
  matching: filter<Matching>({ scanned: matchesTask }),
}

/** Returns conditions in two groups: `indexed` find few tasks by an index, `scanned` check each task. */
export async function conditionsOf(sql: Sql, filter: TaskFilter, snapshot?: Snapshot) {
  const scope = { caller: filter.caller, snapshot }
  const parts = (group: 'indexed' | 'scanned') =>
    filter.others.flatMap(({ name, value }) => filters[name]![group]?.(sql, value as never, scope) ?? [])
  return {
    indexed: parts('indexed'),
    scanned: [...parts('scanned'), ...(await fieldConditions(sql, filter, snapshot))],
  }
}

export const joinedByAnd = (sql: Sql, parts: SqlPart[]): SqlPart =>
  parts.reduce((all, one): SqlPart => sql`${all} and ${one}`)

/** SQL that limits projects `p` to projects with matching tasks. */
export const projectsOf = (sql: Sql, { others }: TaskFilter): SqlPart =>
  others.reduce(
    (all, { name, value }): SqlPart => {
      const within = filters[name]!.projects?.(sql, value as never)
      return within ? sql`${all} ${within}` : all
    },
    sql``,
  )

export const hasFilters = ({ others, fields }: TaskFilter) => others.length > 0 || fields !== undefined

export const dependsOnTime = ({ others }: TaskFilter) =>
  others.some(({ name }) => filters[name]!.dependsOnTime)

export const fieldPrefix = 'field.'

const NAME = /^field\.([a-z][a-z0-9_]{0,39})(?:\.(min|max))?$/

export const unknownFieldParameter = (name: string) =>
  badRequest(`${name.slice(0, 100)} must name a field of the project`)
const notOrdered = (name: string) => badRequest(`${name} must name a field of the type number or date`)

/** @throws HttpError 400 */
export function readFieldParameter(name: string, text: string): FieldParameter {
  const [, key, bound] = NAME.exec(name) ?? []
  if (!key) throw unknownFieldParameter(name)
  return { name, key, bound: bound as FieldParameter['bound'], text }
}

type Field = Pick<FieldRow, 'key' | 'type' | 'options'>

const NUMBER = /^-?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,3})?$/i

/** Returns the value that the text means for a type of fields, or the text itself. */
function valueIn(text: string, type: Field['type']): string | number | boolean {
  if (type === 'number') return NUMBER.test(text) ? Number(text) : text
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text
}

/** Returns the value of the parameter as JSON in the stored form. @throws HttpError 400 if the field is unknown or has another type */
export function fieldValue({ name, bound, text }: FieldParameter, field: Field | undefined): string {
  if (!field) throw unknownFieldParameter(name)
  const { type } = field
  if (bound && type !== 'number' && type !== 'date') throw notOrdered(name)
  return JSON.stringify(storedForm(field, valueIn(text.trim(), type), name))
}

/** SQL for each parameter `field.*`. @throws HttpError 400 if a field is unknown or has another type */
async function fieldConditions(
  sql: Sql,
  { projectId, fields: parameters }: { projectId?: string; fields?: FieldParameter[] },
  snapshot?: Snapshot,
): Promise<SqlPart[]> {
  if (!parameters) return []
  const fieldsIn = (source: SqlPart) =>
    sql`select key, type, options from ${source} f where project_id = ${projectId!}`
  const fields = await sql<Field[]>`${unionOf(sql, rowSources(sql, 'field', snapshot), fieldsIn)}`
  return parameters.map((parameter) => {
    const field = fields.find(({ key }) => key === parameter.key)
    return condition(sql, parameter, fieldValue(parameter, field), field?.type === 'date')
  })
}

/** Numbers are compared as JSON. A task may still store a value of an earlier field that had the same key. */
function condition(sql: Sql, { key, bound }: FieldParameter, value: string, isDate: boolean): SqlPart {
  const stored = sql`(t.fields -> ${key}::text)`
  if (!bound) return sql`${stored} = ${value}::text::jsonb`
  const compare = bound === 'min' ? sql`>=` : sql`<=`
  if (!isDate) return sql`(jsonb_typeof${stored} = 'number' and ${stored} ${compare} ${value}::text::jsonb)`
  return sql`((${stored} ->> 'date') collate "C" ${compare} ${JSON.parse(value).date}::text)`
}
