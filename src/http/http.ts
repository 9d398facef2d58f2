import type { Guards } from './guards.ts'
import { askQuery } from './ask-query.ts'
import { openRunCommand } from './run-command.ts'

/** What routes are made of. */
export interface Http {
  /** Lets only signed-in callers pass. */
  guarded: Guards['guarded']
  /** The same for reads by another method than GET. */
  reading: Guards['reading']
  run: ReturnType<typeof openRunCommand>
  ask: typeof askQuery
}

export const openHttp = (guards: Guards, ...means: Parameters<typeof openRunCommand>): Http => ({
  guarded: guards.guarded,
  reading: guards.reading,
  run: openRunCommand(...means),
  ask: askQuery,
})
