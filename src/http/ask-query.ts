import type { Query, Reading } from '../commands/query.ts'
import { requireScope } from '../identity/scopes.ts'
import { queryHooks } from '../openapi/query-hooks.ts'

/** Gives a route all it needs for a query: see openRunCommand. */
export function askQuery(path: string, query: Query, summary: string) {
  const { read, scope = 'read' } = query
  const handle = ({ request, caller, params, query }: Reading): Promise<Response> => {
    requireScope(caller, scope)
    return read({ request, caller, params, query })
  }
  return [path, handle, queryHooks(query, summary)] as const
}
