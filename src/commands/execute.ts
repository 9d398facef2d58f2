import type { Actors } from '../actor/actors.ts'
import { throttle } from '../throttle.ts'
import { isAhead, isId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { FindRole } from '../reads/lookups.ts'
import { idTaken, unavailable } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'
import type { Command, Declared, RuleContext } from './command.ts'
import { authorize, otherProject, ownIdIn, takesRole } from './decide.ts'
import { Execution } from './execution.ts'
import type { LookUp } from './look-up.ts'
import type { RoutedCommand } from './request.ts'

/**
 * Executes a command in this process, and returns its reply once it is durable. Every event of a project sorts after
 * the command that it came of: one command of a clock that is ahead would put all later ones ahead too.
 * @param deadline when to give up, on the clock of performance.now()
 * @throws HttpError the rule's, 503
 */
export type Execute = (command: Command, routed: RoutedCommand, deadline: number) => Promise<Reply>

interface Means {
  actors: Actors
  findRole: FindRole
  lookUp: LookUp
  limits: RuleContext['limits']
  /** Completes the error of a command that reads the log. */
  explain?: (error: unknown) => Promise<never>
  log?: Log
}

/**
 * Checks role and scope, looks up what the command needs, and runs the command in its actor. A rejected command looks up
 * nothing, and reaches neither the actor nor its lease.
 */
export function openExecute({ actors, findRole, lookUp, limits, explain, log }: Means): Execute {
  const warn = throttle(60_000, (id: string) => log?.warn({ id }, aheadInLog))
  async function prepare(command: Command, routed: RoutedCommand, deadline: number, isKnown: boolean) {
    if (!isKnown)
      await requireAuthorized(findRole, command, routed).catch((error: unknown) => {
        // A command that was sent again may be committed already: its actor looks for it in the log.
        if (!routed.again) throw error
      })
    const lookedUp = looksUp(command, routed.input) ? await lookUp(command, routed) : {}
    // The id of somebody else's project: that project's actor is not asked.
    if (command.target.kind === 'new' && lookedUp.found?.taken.length && !routed.again) throw idTaken()
    const queued = new Execution(command, routed, deadline, limits, lookedUp)
    return queued.needs?.past && explain ? actors.run(queued).catch(explain) : actors.run(queued)
  }

  return (command, routed, deadline) => {
    if (isAhead(routed.id)) {
      warn(routed.id)
      return Promise.reject(unavailable('The clock of a process was ahead: send the write again'))
    }
    const isKnown = isAuthorized(actors, command, routed)
    return isKnown && !looksUp(command, routed.input) && !command.preload
      ? actors.run(new Execution(command, routed, deadline, limits))
      : prepare(command, routed, deadline, isKnown)
  }
}

/** By the roles in the database, in one query. @throws HttpError 404 for a stranger, 403 */
export async function requireAuthorized(
  findRole: FindRole,
  command: Declared,
  { projectId, caller, input }: Pick<RoutedCommand, 'projectId' | 'caller' | 'input'>,
): Promise<void> {
  const rolesIn = async (id: string) => {
    const seen = takesRole(command) && isId(id) ? await findRole(caller, id) : undefined
    return { projectId: id, roleOf: () => seen?.role ?? null }
  }
  const otherId = otherProject(command, projectId, input)
  const [roles, other] = await Promise.all([rolesIn(projectId), otherId && rolesIn(otherId)])
  authorize(command, roles, caller, input, other || roles)
}

const aheadInLog =
  'a command was rejected: the clock of the process that sent it is ahead of that of the database'

/** False for a command that needs nothing but its project: most of them. */
const looksUp = (command: Command, input: object): boolean =>
  command.person !== undefined || command.lookups !== undefined || ownIdIn(command, input) !== undefined

/** By the roles in memory, at no cost. They may be out of date: only "true" counts, and the actor checks again. */
function isAuthorized(
  actors: Actors,
  command: Command,
  { projectId, caller, input }: RoutedCommand,
): boolean {
  const otherId = otherProject(command, projectId, input)
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
