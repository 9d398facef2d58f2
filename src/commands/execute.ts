import type { Actors } from '../actor/actors.ts'
import { throttle } from '../throttle.ts'
import { isAhead } from '../ids.ts'
import { isId } from '../id-format.ts'
import type { Log } from '../logger.ts'
import type { FindRole } from '../reads/lookups.ts'
import { idTaken, unavailable } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'
import type { Command, WriteDefinition, RuleContext } from './command.ts'
import { authorize, destinationOf, clientIdIn } from './decide.ts'
import { Execution } from './execution.ts'
import type { LookUp } from './look-up.ts'
import type { RoutedCommand } from './request.ts'

/** Executes a command in this process. @param deadline on the clock of performance.now() */
export type Execute = (command: Command, routed: RoutedCommand, deadline: number) => Promise<Reply>

interface ExecuteDependencies {
  actors: Actors
  findRole: FindRole
  lookUp: LookUp
  limits: RuleContext['limits']
  /** For a command that reads the log: throws its error again, with details from the log. */
  explain?: (error: unknown) => Promise<never>
  log?: Log
}

/** A command that the first check of role and scope rejects causes no look-up and no lease. */
export function openExecute(dependencies: ExecuteDependencies): Execute {
  const { actors, findRole, lookUp, limits, explain, log } = dependencies
  const warn = throttle(60_000, (id: string) => log?.warn({ id }, aheadInLog))
  async function prepare(command: Command, routed: RoutedCommand, deadline: number, isKnown: boolean) {
    if (!isKnown)
      await requireAuthorized(findRole, command, routed).catch((error: unknown) => {
        // A retried command may be committed already. Its actor searches the log first.
        if (!routed.again) throw error
      })
    const lookupResults = looksUp(command, routed.input) ? await lookUp(command, routed) : undefined
    // An existing project has the id. Rejects here, because the command must not reach the actor of that project.
    if (command.target.kind === 'new' && lookupResults?.takenIds.length && !routed.again) throw idTaken()
    return start(new Execution(command, routed, deadline, limits, lookupResults))
  }
  const start = (queued: Execution) =>
    queued.preload?.undo && explain ? actors.run(queued).catch(explain) : actors.run(queued)

  return (command, routed, deadline) => {
    // Later events must have larger ids, so an id from a clock that is ahead must not be used.
    if (isAhead(routed.id)) {
      warn(routed.id)
      return Promise.reject(unavailable('The clock of a process was ahead: send the write again'))
    }
    const isKnown = isAuthorized(actors, command, routed)
    return isKnown && !looksUp(command, routed.input)
      ? start(new Execution(command, routed, deadline, limits))
      : prepare(command, routed, deadline, isKnown)
  }
}

export async function requireAuthorized(
  findRole: FindRole,
  command: WriteDefinition,
  { projectId, caller, input }: Pick<RoutedCommand, 'projectId' | 'caller' | 'input'>,
): Promise<void> {
  const rolesIn = async (id: string) => {
    const seen = command.role !== null && isId(id) ? await findRole(caller, id) : undefined
    return { projectId: id, roleOf: () => seen?.role ?? null }
  }
  const otherId = destinationOf(command, projectId, input)
  const [roles, other] = await Promise.all([rolesIn(projectId), otherId && rolesIn(otherId)])
  authorize(command, roles, caller, input, other || roles)
}

const aheadInLog =
  'a command was rejected: the clock of the process that sent it is ahead of the clock of the database'

const looksUp = (command: Command, input: object): boolean =>
  command.person !== undefined || command.lookups !== undefined || clientIdIn(command, input) !== undefined

/** Checks roles in memory. They may be out of date: if false, the database is read; if true, the actor checks again. */
function isAuthorized(actors: Actors, command: Command, { projectId, caller, input }: RoutedCommand) {
  const otherId = destinationOf(command, projectId, input)
  const state = actors.stateOf(projectId)
  const other = otherId === undefined ? state : actors.stateOf(otherId)
  if (!state || !other) return false
  try {
    authorize(command, state, caller, input, other)
    return true
  } catch {
    return false
  }
}
