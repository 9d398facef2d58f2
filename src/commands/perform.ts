import type { Actors } from '../actor/actors.ts'
import type { Needs } from '../actor/needs.ts'
import type { Work } from '../actor/work.ts'
import { ownGuard } from '../commit/idempotency.ts'
import { atMostEvery } from '../at-most-every.ts'
import { isAhead, isId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { FindRole } from '../reads/role-lookup.ts'
import { etagOf } from '../wire/answers.ts'
import { idTaken, unavailable } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'
import type { Command, Declared, Known } from './command.ts'
import { authorize, decide, idIn, otherProject, takesRole } from './decide.ts'
import { type LookedUp, type LookUp, looksUp } from './look-up.ts'
import type { Dispatch, Found } from './order.ts'
import type { Person } from '../reads/people.ts'

/**
 * Does in this process what was dispatched, and gives its answer once it is durable. Every event of a project sorts after
 * the command that it came of: one command of a clock that is ahead would put all later ones ahead too.
 * @param deadline when to give up, on the clock of performance.now()
 * @throws Refusal what the rule refused, 503
 */
export type Perform = (command: Command, dispatch: Dispatch, deadline: number) => Promise<Reply>

interface Means {
  actors: Actors
  findRole: FindRole
  lookUp: LookUp
  limits: Known['limits']
  log?: Log
}

/**
 * Checks role and scope, looks up what the command needs, and runs the command in its actor. A rejected command looks up
 * nothing, and reaches neither the actor nor its lease.
 */
export function openPerform({ actors, findRole, lookUp, limits, log }: Means): Perform {
  const warn = atMostEvery(warnEveryMs, (id: string) => log?.warn({ id }, aheadInLog))
  async function prepare(command: Command, dispatch: Dispatch, deadline: number, isKnown: boolean) {
    if (!isKnown)
      await requireAuthorized(findRole, command, dispatch).catch((error: unknown) => {
        // A command that was sent again may be committed already: its actor looks for it in the log.
        if (!dispatch.again) throw error
      })
    const lookedUp = looksUp(command, dispatch.input) ? await lookUp(command, dispatch) : nothing
    // The id of somebody else's project: that project's actor is not asked.
    if (command.at.kind === 'new' && lookedUp.found?.taken.length && !dispatch.again) throw idTaken()
    return actors.run(workOf(command, { dispatch, lookedUp, limits }), deadline)
  }

  return (command, dispatch, deadline) => {
    if (isAhead(dispatch.id)) {
      warn(dispatch.id)
      return Promise.reject(unavailable('The clock of a process was ahead: send the write again'))
    }
    const isKnown = isAuthorized(actors, command, dispatch)
    return isKnown && !looksUp(command, dispatch.input)
      ? actors.run(workOf(command, { dispatch, lookedUp: nothing, limits }), deadline)
      : prepare(command, dispatch, deadline, isKnown)
  }
}

/** By the roles in the database, in one query. @throws Refusal 404 for a stranger, 403 */
export async function requireAuthorized(
  findRole: FindRole,
  command: Declared,
  { projectId, caller, input }: Pick<Dispatch, 'projectId' | 'caller' | 'input'>,
): Promise<void> {
  const rolesIn = async (id: string) => {
    const seen = takesRole(command) && isId(id) ? await findRole(caller, id) : undefined
    return { projectId: id, roleOf: () => seen?.role ?? null }
  }
  const otherId = otherProject(command, projectId, input)
  const [roles, other] = await Promise.all([rolesIn(projectId), otherId && rolesIn(otherId)])
  authorize(command, roles, caller, input, other || roles)
}

const warnEveryMs = 60_000
const aheadInLog =
  'a command was rejected: the clock of the process that sent it is ahead of that of the database'

/** By the roles in memory, at no cost. They may be out of date: only "true" counts, and the actor checks again. */
function isAuthorized(actors: Actors, command: Command, { projectId, caller, input }: Dispatch): boolean {
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

const nothing: LookedUp = {}

interface Asked {
  dispatch: Dispatch
  lookedUp: LookedUp
  limits: Means['limits']
}

function workOf(command: Command, { dispatch, lookedUp, limits }: Asked): Work<Reply> {
  const { id, projectId, input, caller, ifMatch } = dispatch
  const { person, found } = lookedUp
  const needs = needsOf(command, dispatch, found)
  return {
    id,
    get again() {
      return dispatch.again
    },
    projectId,
    otherProjectId: command.into?.(input),
    caller,
    needs,
    authorize: needs && ((state, other) => authorize(command, state, caller, input, other)),
    ifMatch,
    guard: dispatch.guard ?? (command.keepsAnswer ? ownGuard(id) : undefined),
    ownIds: found?.ownIds?.length ? found.ownIds : undefined,
    weight: command.weight?.(input),
    opens: command.at.kind === 'new',
    decide(state, context, other) {
      const known = { ...context, person, found, limits }
      const decision = decide(command, state, known, input, other)
      return { ...decision, answer: replyOf(command, decision.answer, person) }
    },
    recall: recallOf(command, person),
  }
}

/** How an answer that was not kept is found in the event that the order began with. */
function recallOf(command: Command, person: Person | undefined): Work<Reply>['recall'] {
  const { keepsAnswer, recalls } = command
  if (!keepsAnswer) return ({ after }) => replyOf(command, after, person)
  return (
    recalls &&
    ((event) => {
      const answer = recalls(event, person)
      return answer === undefined ? undefined : replyOf(command, answer, person)
    })
  )
}

function needsOf(command: Command, { projectId, taskId, input }: Dispatch, found?: Found): Needs | undefined {
  const { at, needs } = command
  if (at.kind === 'new') return undefined
  if (at.kind === 'project') return needs?.(input, found)
  const leaves = otherProject(command, projectId, input) !== undefined
  return {
    task: taskId ? [taskId] : [],
    [at.kind]: [idIn(input, at.key)],
    leaving: leaves ? taskId : undefined,
  }
}

/** What a command answers, from what its rule decided: the row's view and ETag, its message, or else the bare answer. */
export function replyOf<Row>(
  { status, shows, says }: Declared<never, Row>,
  answer: unknown,
  person?: Person,
): Reply {
  const body = shows ? shows.of(answer as Row, person) : says ? { message: says } : answer
  const tag = shows?.tag?.(person, answer as Row)
  const etag = shows && !shows.untagged ? etagOf(answer as { eventId: string }, tag) : null
  return { status, body: JSON.stringify(body), etag }
}
