import { LRUCache } from 'lru-cache'
import type { Entity } from '../model/entities.ts'
import { definitionOf } from '../model/model.ts'
import { hasReferences } from '../model/references.ts'
import { columnList } from '../postgres/columns.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { visibleColumns } from './rows-at.ts'

/** The maximum number of lists remembered: about 2 MB. */
const maxLists = 10_000

/** Lists in which this process has seen rows with references. Only a hint: a wrong one costs time. */
const listsWithReferences = new LRUCache<string, true>({ max: maxLists })

/**
 * Reads rows without references faster: the SQL that hides references to deleted rows makes a query of 50 rows twice as
 * slow (measured), even if no row has references. So the first query reads plain columns. If a row has references, all
 * rows are read again, by one query that hides references, and the next reads of the list begin with that query.
 * @param read reads the rows with these columns
 */
export async function readVisible<R extends object>(
  sql: Sql,
  { entity, alias, list }: { entity: Entity; alias: string; list: string },
  read: (columns: SqlPart) => Promise<R[]>,
): Promise<R[]> {
  const key = `${entity} ${list}`
  if (!listsWithReferences.has(key)) {
    const rows = await read(columnList(sql, definitionOf(entity).table, alias))
    if (!rows.some((row) => hasReferences(entity, row))) return rows
    listsWithReferences.set(key, true)
  }
  return read(visibleColumns(sql, entity, alias))
}
