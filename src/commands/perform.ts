import type { Actors } from '../actor/actors.ts'
import type { Needs } from '../actor/state.ts'
import type { Work } from '../actor/work.ts'
import { ownGuard } from '../commit/idempotency.ts'
import { isAhead } from '../ids.ts'
import type { Log } from '../log.ts'
import { unavailable } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'
import type { Command } from './command.ts'
import { decide, idIn } from './decide.ts'
import type { Dispatch } from './order.ts'
import type { Person } from './people.ts'
import { replyOf } from './reply-of.ts'

/**
 * Does in this process what was dispatched, and gives its answer once it is durable. Every event of a project sorts after
 * the command that it came of: one command of a clock that is ahead would put all later ones ahead too.
 * @param deadline when to give up, on the clock of performance.now()
 * @throws Refusal what the rule refused, 503
 */
export type Perform = (command: Command, dispatch: Dispatch, deadline: number) => Promise<Reply>

export function openPerform(actors: Actors, limits: { projectMembers: number }, log?: Log): Perform {
  const warn = atMostEvery(warnEveryMs, (id: string) => log?.warn({ id }, aheadInLog))
  return (command, dispatch, deadline) => {
    if (!isAhead(dispatch.id)) return actors.run(workOf(command, dispatch, limits), deadline)
    warn(dispatch.id)
    return Promise.reject(unavailable('The clock of a process was ahead: send the write again'))
  }
}

const warnEveryMs = 60_000
const aheadInLog =
  'a command was rejected: the clock of the process that sent it is ahead of that of the database'

function atMostEvery<T>(ms: number, tell: (about: T) => void): (about: T) => void {
  let told = -Infinity
  return (about) => {
    if (performance.now() < told + ms) return
    told = performance.now()
    tell(about)
  }
}

function workOf(command: Command, dispatch: Dispatch, limits: { projectMembers: number }): Work<Reply> {
  const { id, projectId, input, caller, ifMatch, person, found } = dispatch
  return {
    id,
    get again() {
      return dispatch.again
    },
    projectId,
    otherProjectId: command.into?.(input),
    caller,
    needs: needsOf(command, dispatch),
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

function needsOf({ at, into, needs }: Command, dispatch: Dispatch): Needs | undefined {
  const { projectId, taskId, input, found } = dispatch
  if (at.kind === 'new') return undefined
  if (at.kind === 'project') return needs?.(input, found)
  const leaves = (into?.(input) ?? projectId) !== projectId
  return { task: [taskId!], [at.kind]: [idIn(input, at.key)], leaving: leaves ? taskId : undefined }
}
