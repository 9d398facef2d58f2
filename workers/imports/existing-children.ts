import { getTableName } from 'drizzle-orm'
import { childId, childTail, DigestKeys, msOf, tailOf } from '../../modules/imports/convert/keys.ts'
import type { ChildItem, SubtaskItem } from '../../modules/imports/items.ts'
import type { Source } from '../../modules/imports/sources.ts'
import { isId } from '../../src/id-format.ts'
import { personColumns } from '../../src/log/rows-with-person.ts'
import type { ChildOfTask } from '../../src/model/entities.ts'
import { definitionOf } from '../../src/model/model.ts'
import { columnsOf } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { StagedChild } from './staged.ts'

/** The ids of the children that tasks already have: by id, by the end of the id, and by the key of a child without an id. */
export type ExistingChildren = ReadonlyMap<string, string>

/** Reads the children of tasks that existed before the import. */
export async function readExistingChildren(
  sql: Sql,
  children: StagedChild[],
  items: ChildItem[],
): Promise<ExistingChildren> {
  const tasksByKind = new Map<ChildOfTask, Map<string, string>>()
  for (const [n, { kind }] of items.entries()) {
    const { taskId, taskKey, taskOutcome } = children[n]!
    if (taskOutcome === null || taskOutcome === 'rejected') continue
    tasksByKind.set(kind, (tasksByKind.get(kind) ?? new Map()).set(taskId, taskKey))
  }
  const ids = new Map<string, string>()
  const keys = new DigestKeys()
  for (const [kind, tasks] of tasksByKind)
    for (const { id, key, createdAt, importedAuthor, personName, ...text } of await childrenOf(
      sql,
      kind,
      tasks,
    )) {
      const name = importedAuthor ?? personName
      const author = name ? { name } : undefined
      const item = { ...text, kind, task: key, author, createdAt: new Date(createdAt).toISOString() }
      ids
        .set(id, id)
        .set(tailOf(id), id)
        .set(keys.ofChild(item as unknown as SubtaskItem), id)
    }
  return ids
}

interface Child {
  id: string
  /** The key of the task in the file. */
  key: string
  createdAt: string
  importedAuthor?: string | null
  personName?: string | null
}

/** Reads what identifies children: the author and the time of kinds with an author, the text of others. */
function childrenOf(sql: Sql, kind: ChildOfTask, tasks: ReadonlyMap<string, string>) {
  const definition = definitionOf(kind)
  const { names, people } = personColumns(sql, definition, 'c')
  const shown = ['importedAuthor', definition.person ? '' : definition.asChild!.text]
  const columns = columnsOf(definition.table).flatMap(({ key, name }) =>
    shown.includes(key) ? `, c.${name}` : [],
  )
  // A lateral join, because Postgres would scan the whole table while its statistics do not know the imported tasks.
  return sql<Child[]>`
    select c.id, q.key, c.created_at ${sql.unsafe(columns.join(''))} ${names}
    from unnest(${[...tasks.keys()]}::uuid[], ${[...tasks.values()]}::text[]) q(task_id, key) cross join lateral (
      select * from ${sql(getTableName(definition.table))} where task_id = q.task_id order by id) c ${people}`
}

/** Returns the id of the child that an earlier import created, or else a new id, which is the same in each import. */
export function childIdOf(
  { n, key, taskId, task }: StagedChild,
  { kind, key: ownKey = '', csvKey = '', orderMs }: ChildItem,
  source: Source,
  existing: ExistingChildren,
  createdAt?: string,
): string {
  const tail = childTail(taskId, source, kind, key)
  const own = source === 'docket' && isId(ownKey) ? ownKey : undefined
  // Children without a time get the time of their task. A later child with a time must not come before them.
  const time = orderMs === undefined ? undefined : Math.max(orderMs, msOf(taskId))
  const ms = own ? msOf(own) : (time ?? (createdAt ? Date.parse(createdAt) : msOf(taskId)))
  return (
    existing.get(own ?? '') ??
    existing.get(tail) ??
    existing.get(csvKey && childTail(taskId, 'csv', kind, csvKey)) ??
    (source === 'csv' && task.isExported ? existing.get(key) : undefined) ??
    childId(ms + (n >> 12), n, tail)
  )
}
