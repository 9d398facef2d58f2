import { positionKey, tasks } from '../../drizzle/schema/tasks.ts'
import { maxId, nilId } from '../../src/id-format.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isIdPart } from '../../src/reads/pages.ts'
import { keyOf, partsInOrder } from '../order/keys.ts'
import type { ListUses, SortKey } from '../tasks/kinds.ts'
import { type FieldName, taskFields, priorities, statuses } from '../tasks/schema.ts'
import type { TaskRow } from '../../drizzle/rows.ts'
import type { SearchQuery } from '../search/text.ts'

export const columnOf = (name: string): string => `t.${tasks[name as FieldName].name}`

const isPositionKey = (part: unknown) => typeof part === 'string' && /^[0-9A-Za-z]{1,100}$/.test(part)

const fieldSort = (name: FieldName, key: SortKey, sortedWith: ListUses['sortedWith']): Sort => ({
  key: { sql: key.sql(columnOf(name)), type: key.type, first: '-infinity', last: 'infinity' },
  field: name,
  indexed: ['status', 'priority', ...(sortedWith === 'assignee' ? ['assigneeId'] : [])],
  cursorOf(row) {
    const value = row[name]
    return [value == null ? null : String(value), row.id]
  },
  parts: [(part) => part === null || (typeof part === 'string' && key.isPart(part)), isIdPart],
})

export const byPosition: Sort = {
  key: { sql: positionKey, type: 'text', first: '', last: '' },
  hasUniqueKeys: true,
  indexed: [],
  cursorOf: (row) => [keyOf(row)],
  parts: [isPositionKey],
}

const byCreation: Sort = {
  indexed: ['status', 'priority', 'assigneeId'],
  cursorOf: ({ id }) => [id],
  parts: [isIdPart],
}

/** The orders of the list by the name of the parameter `sort`, which may begin with `-`. */
export const sortNamed = new Map<string, Sort>([
  ['createdAt', byCreation],
  ...taskFields.flatMap(([name, { kind, sortedWith }]) =>
    sortedWith ? [[name, fieldSort(name, kind!.key!, sortedWith)] as const] : [],
  ),
  ['position', byPosition],
])

export const sorts = [...sortNamed].flatMap(([name, { hasUniqueKeys }]) =>
  hasUniqueKeys ? [name] : [name, `-${name}`],
)

/** @param key SQL for the sort key, if the order has one */
export function orderOf(sql: Sql, filter: TaskFilter, key: SqlPart) {
  const { sort, descends, after, is } = filter
  const [than, direction] = descends ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`]
  if (sort.hasUniqueKeys)
    return { by: sql`${key} ${direction}`, after: after ? sql`and ${key} ${than} ${after[0]!}` : sql`` }
  // These columns do not change the order: they make the planner use the index that ends with the same columns.
  const index = isPlain(filter)
    ? sql`t.number ${direction}`
    : sql`t.created_at ${direction} ${is.assigneeId ? sql`, t.number ${direction}` : sql``}`
  if (!sort.key) {
    const [id] = after ?? [descends ? maxId : nilId]
    return { by: sql`t.id ${direction}, ${index}`, after: sql`and t.id ${than} ${id!}` }
  }
  const { type, first, last: end } = sort.key
  const [start, id] = after ?? (descends ? [end, maxId] : [first, nilId])
  return {
    by: sql`${key} ${direction}, t.id ${direction}, ${index}`,
    after: sql`and (${key}, t.id) ${than} (${start ?? end}::text::${sql.unsafe(type)}, ${id!}::uuid)`,
  }
}

export const keyIn = (sql: Sql, { sort }: TaskFilter): SqlPart => sql.unsafe(sort.key?.sql ?? 'null')

/** A list in the order of creation whose filters, if it has any, have no index. */
export const isPlain = ({ is, ready, sort }: TaskFilter) =>
  sort === byCreation && !is.status && !is.priority && !is.assigneeId && !ready

/** SQL for the branches of a list: within each branch, an index has the order of the list. */
export function branchesOf(sql: Sql, filter: TaskFilter): SqlPart[] {
  const { sort, is, ready } = filter
  if (isPlain(filter)) return [sql``]
  // All open statuses use the same indexes, so `ready` can use the indexes of any open status.
  if (sort.hasUniqueKeys)
    return partsInOrder(is.status ?? (ready ? 'TODO' : undefined), is.priority).map((part) =>
      sql.unsafe(`and ${part}`),
    )
  const all = is.status ? [is.status] : ready ? statuses.filter((one) => one !== 'DONE') : statuses
  return all.flatMap((status) =>
    (is.priority ? [is.priority] : priorities).map((priority) =>
      isInBranch(sql, { sort, is: { ...is, status, priority } }),
    ),
  )
}

/** SQL for the values of fields that the indexes of an order contain. */
export function isInBranch(sql: Sql, { is, sort }: Pick<TaskFilter, 'is' | 'sort'>): SqlPart {
  let all = sql``
  for (const name of sort.indexed) {
    const value = is[name]
    if (value !== undefined) all = sql`${all} ${sql.unsafe(`and ${columnOf(name)} =`)} ${value}`
  }
  return all
}

/** SQL for the conditions of the usual filters that the indexes of the order do not contain. */
export function conditionsWithoutIndex(sql: Sql, { is, bounds, sort }: TaskFilter): SqlPart[] {
  const values = Object.entries(is).flatMap(([name, value]) =>
    sort.indexed.includes(name) ? [] : [sql`${sql.unsafe(columnOf(name))} = ${value!}`],
  )
  return [...bounds.filter(({ field }) => field !== sort.field).map((one) => isWithin(sql, one)), ...values]
}

/** A missing bound is infinite, so that lists with one bound or two share one cached statement on each connection. */
export function isWithin(sql: Sql, { field, key, from, to }: Bounds): SqlPart {
  const { bounds, type } = key
  const [value, cast] = [sql.unsafe(key.sql(columnOf(field))), sql.unsafe(`::text::${type}`)]
  return sql`(${value} ${sql.unsafe(bounds.from)} ${from ?? bounds.lowest}${cast}
    and ${value} ${sql.unsafe(bounds.to)} ${to ?? bounds.highest}${cast})`
}

/** An order of the list. Without a key, tasks are sorted by id, which is the order of their creation. */
export interface Sort {
  /** SQL for the key of a task `t`, its SQL type, and keys before and after all tasks. */
  key?: { sql: string; type: string; first: string; last: string }
  /** True if all keys differ, so that the order needs no id. */
  hasUniqueKeys?: true
  /** The field whose bounds the indexes of this order serve. */
  field?: string
  /** The fields whose values the indexes of this order contain. */
  indexed: readonly string[]
  /** Returns the values of a row that a cursor contains. */
  cursorOf(row: TaskRow): (string | null)[]
  parts: ((part: unknown) => boolean)[]
}

export interface Bounds {
  field: FieldName
  key: SortKey
  from: string | undefined
  to: string | undefined
}

/** A parameter `field.<key>`, `field.<key>.min` or `field.<key>.max`. The field's type decides how `text` is read. */
export interface FieldParameter {
  name: string
  key: string
  bound?: 'min' | 'max'
  text: string
}

export interface TaskFilter {
  caller: string
  projectId: string | undefined
  tokenProjects: string[] | null
  limit: number
  sort: Sort
  descends: boolean
  /** The sort key of the last row on the previous page, as `sort.cursorOf` returns it. */
  after: (string | null)[] | null
  /** Values of the fields that most indexes contain. */
  is: { status?: string; priority?: string; assigneeId?: string; [field: string]: string | undefined }
  bounds: Bounds[]
  /** Values of the filters in `filters.ts`. */
  others: { name: string; value: unknown }[]
  /** The list contains only tasks that the caller could do now. */
  ready: boolean
  fields: FieldParameter[] | undefined
  q: SearchQuery | undefined
}
