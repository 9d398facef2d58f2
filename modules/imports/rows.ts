import { imports, type ImportState, type UndoState } from '../../drizzle/schema/imports.ts'
import { batched } from '../../src/postgres/batch.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { byOrdinal } from '../../src/postgres/row-order.ts'

export type ImportRow = typeof imports.$inferSelect

const finalStates: ImportState[] = ['done', 'failed', 'cancelled']
const activeUndoStates: (UndoState | null)[] = ['queued', 'running']

/** True if the import has ended. It may still be undone. */
export const isFinal = ({ state }: Pick<ImportRow, 'state'>): boolean => finalStates.includes(state)
export const isUndoActive = ({ undoState }: Pick<ImportRow, 'undoState'>): boolean =>
  activeUndoStates.includes(undoState)

/** SQL that is true for imports that responses show. The others are incomplete, or about to be removed. */
export const isShown = (sql: Sql) => sql`state not in ('receiving', 'removing')`

/** SQL for the condition of the index `imports_active`. */
export const isActive = (sql: Sql) =>
  sql`(state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running'))`

export const importColumns = (sql: Sql, alias = 'imports') => columnList(sql, imports, alias)

export type FindImport = (id: string) => Promise<ImportRow | undefined>

/** Reads the imports of many requests and streams in one query. */
export const openFindImport = (sql: Sql): FindImport =>
  batched({ keys: 500, slots: 2 }, async (ids: string[]) => {
    const rows = await sql<(ImportRow & { n: number })[]>`
      select q.n::int4 as n, ${importColumns(sql, 'i')} from unnest(${ids}::uuid[]) with ordinality q(id, n)
      join imports i on i.id = q.id where ${isShown(sql)}`
    return byOrdinal(ids.length, rows)
  })
