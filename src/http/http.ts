import type { Run } from '../commands/run.ts'
import type { Doors } from '../core/doors.ts'
import { askQuery } from './ask-query.ts'
import { openRunCommand } from './run-command.ts'
import type { Write } from './write.ts'

/** What routes are made of. */
export interface Http {
  /** Lets only signed-in callers pass. */
  guarded: Doors['guarded']
  run: ReturnType<typeof openRunCommand>
  ask: typeof askQuery
}

export const openHttp = (doors: Doors, run: Run, write: Write): Http => ({
  guarded: doors.guarded,
  run: openRunCommand(run, write),
  ask: askQuery,
})
