import type { Query, Reading } from '../commands/query.ts'
import { requireScope } from '../identity/rights.ts'
import { queryHooks } from '../openapi/query-hooks.ts'
import type { Guards } from './guards.ts'
import { openRun, openWrite, type RunMeans } from './run-command.ts'

export type Http = ReturnType<typeof openHttp>

/** What routes are made of. */
export const openHttp = (guards: Guards, means: RunMeans) => ({
  ...guards,
  run: openRun(means),
  write: openWrite(means),
  ask: askQuery,
})

/** Gives a route all it needs for a query: see handlerOf in run-command.ts. */
function askQuery(path: string, query: Query, summary: string) {
  const { read, scope = 'read' } = query
  const answer = (reading: Reading): Promise<Response> => {
    requireScope(reading.caller, scope)
    return read(reading)
  }
  const handle = query.body
    ? ({ request, caller, params, query, body, turn }: Reading) =>
        answer({ request, caller, params, query, body, turn })
    : ({ request, caller, params, query, turn }: Reading) => answer({ request, caller, params, query, turn })
  return [path, handle, queryHooks(query, summary)] as const
}
