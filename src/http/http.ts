import type { Run } from '../commands/run.ts'
import type { Guards } from './guards.ts'
import { askQuery } from './ask-query.ts'
import { openRunCommand } from './run-command.ts'
import type { Write } from './write.ts'

/** What routes are made of. */
export interface Http {
  /** Lets only signed-in callers pass. */
  guarded: Guards['guarded']
  run: ReturnType<typeof openRunCommand>
  ask: typeof askQuery
}

export const openHttp = (guards: Guards, run: Run, write: Write): Http => ({
  guarded: guards.guarded,
  run: openRunCommand(run, write),
  ask: askQuery,
})
