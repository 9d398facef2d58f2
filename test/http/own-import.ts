import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Operation, Sql } from '../kit.ts'

/** Ends all imports, as a worker does. */
export const endImports = (sql: Sql, undoState: string | null = null) => sql`
  update imports set state = 'done', finished_at = now(), undo_state = ${undoState}
  where state in ('queued', 'running') or undo_state in ('queued', 'running')`

/** Starts the import that the operation needs, if any: a queued import for `cancelImport`, else an ended import. */
export async function createOwnImport(
  sql: Sql,
  owner: Client,
  { projectId }: { projectId: string },
  { operationId }: Pick<Operation, 'operationId'>,
): Promise<string> {
  if (!/import/i.test(operationId)) return ''
  const path = `/projects/${projectId}/imports?source=csv`
  // Other tests of the account start imports at the same time.
  for (let status = 429; status === 429; await sleep(20)) {
    await endImports(sql)
    const answer = await owner.post(path, 'title\nOil\n')
    const { id } = answer.body
    if (answer.status === 202) return operationId === 'cancelImport' ? id : endImports(sql).then(() => id)
    status = answer.status
  }
  throw new Error('The import was not accepted')
}
