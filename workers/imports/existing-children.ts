import { getTableName } from 'drizzle-orm'
import { childId, childTail, msOf, tailOf } from '../../modules/imports/convert/keys.ts'
import type { ChildItem } from '../../modules/imports/items.ts'
import type { Source } from '../../modules/imports/sources.ts'
import { isId } from '../../src/id-format.ts'
import { personColumns } from '../../src/log/rows-with-person.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { definitionOf } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { StagedChild } from './staged.ts'

interface Child {
  id: string
  taskId: string
  createdAt: string
  text?: string
  importedAuthor?: string | null
  personName?: string | null
}

/** The children that the tasks of a page already have: ids by id, by the end of the id, and by content. */
export type ExistingChildren = ReadonlyMap<string, string>

/** Children of kinds with an author are told apart by author and time, others by text. */
const contentOf = (
  kind: ChildOfTask,
  taskId: string,
  text: string | undefined,
  createdAt: string | undefined,
  author: string | null | undefined,
): string => {
  const time = createdAt && new Date(createdAt).toISOString()
  return JSON.stringify([taskId, kind, ...(definitionOf(kind).person ? [time, author ?? ''] : [text])])
}

const textNameOf = (kind: ChildOfTask): string => definitionOf(kind).asChild!.text

/** Reads the children of tasks that existed before the import. */
export async function readExistingChildren(
  sql: Sql,
  children: StagedChild[],
  items: ChildItem[],
): Promise<ExistingChildren> {
  const tasksByKind = new Map<ChildOfTask, Set<string>>()
  for (const [n, { kind }] of items.entries()) {
    const { taskId, taskOutcome } = children[n]!
    if (taskOutcome === null || taskOutcome === 'rejected') continue
    tasksByKind.set(kind, (tasksByKind.get(kind) ?? new Set()).add(taskId))
  }
  const ids = new Map<string, string>()
  const counts = new Map<string, number>()
  for (const [kind, taskIds] of tasksByKind)
    for (const child of await childrenOf(sql, kind, [...taskIds])) {
      const { id, taskId, text, createdAt, importedAuthor, personName } = child
      const content = contentOf(kind, taskId, text, createdAt, importedAuthor ?? personName)
      const n = (counts.get(content) ?? 0) + 1
      counts.set(content, n)
      ids.set(id, id).set(tailOf(id), id).set(`${content} ${n}`, id)
    }
  return ids
}

// A lateral join, because Postgres would scan the whole table while its statistics do not know the imported tasks.
function childrenOf(sql: Sql, kind: ChildOfTask, taskIds: string[]) {
  const definition = definitionOf(kind)
  const { names, people } = personColumns(sql, definition, 'c')
  const columns = columnsOf(definition.table).flatMap(({ key, name }) => {
    if (key === textNameOf(kind)) return definition.person ? [] : [`c.${name} as text`]
    return key === 'importedAuthor' ? [`c.${name}`] : []
  })
  const shown = sql.unsafe(['c.id', 'c.task_id', 'c.created_at', ...columns].join(', '))
  return sql<Child[]>`
    select ${shown} ${names} from unnest(${taskIds}::uuid[]) q(task_id) cross join lateral (
      select * from ${sql(getTableName(definition.table))} where task_id = q.task_id order by id) c ${people}`
}

/** Returns the id of the child that an earlier import created, or else a new id, which is the same in each import. */
export function childIdOf(
  { n, key, taskId, task }: StagedChild,
  item: ChildItem,
  source: Source,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const { kind, csvKey, author } = item
  const tail = childTail(taskId, source, kind, key)
  const own = source === 'docket' && isId(item.key ?? '') ? item.key! : undefined
  const ms = own ? msOf(own) : timeOf(item, taskId, createdAt)
  const text = (item as unknown as Record<string, string>)[textNameOf(kind)]
  // A CSV export has no ids of children. The key of the second child with the same content ends with `#2`, and so on.
  const content = () =>
    `${contentOf(kind, taskId, text, item.createdAt, author?.name)} ${key.split('#')[1] ?? '1'}`
  return (
    existing.get(own ?? '') ??
    existing.get(tail) ??
    existing.get(csvKey === undefined ? '' : childTail(taskId, 'csv', kind, csvKey)) ??
    (source === 'csv' && task.isExported ? existing.get(content()) : undefined) ??
    childId(ms + (n >> 12), n, tail)
  )
}

/** Children without a time get the time of their task. A later child with a time must not come before them. */
function timeOf({ orderMs }: ChildItem, taskId: string, createdAt?: string): number {
  if (orderMs !== undefined) return Math.max(orderMs, msOf(taskId))
  return createdAt ? Date.parse(createdAt) : msOf(taskId)
}
