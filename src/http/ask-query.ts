import type { Query, Reading } from '../commands/query.ts'
import { requireScope } from '../identity/scopes.ts'
import { requireNone } from './request-url.ts'
import { queryHooks } from '../openapi/query-hooks.ts'

/** Gives a route all it needs for a query: see openRunCommand. */
export function askQuery(path: string, query: Query, summary: string) {
  const { read, input, scope = 'read' } = query
  const answer = (reading: Reading): Promise<Response> => {
    if (!input) requireNone(reading.request)
    requireScope(reading.caller, scope)
    return read(reading)
  }
  const handle = query.body
    ? ({ request, caller, params, query, body }: Reading) => answer({ request, caller, params, query, body })
    : ({ request, caller, params, query }: Reading) => answer({ request, caller, params, query })
  return [path, handle, queryHooks(query, summary)] as const
}
