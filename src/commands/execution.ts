import type { QueuedCommand } from '../actor/queued-command.ts'
import type { Preload } from '../actor/preload.ts'
import type { ProjectState } from '../actor/state.ts'
import { type IdempotencyKey, ownKey } from '../commit/idempotency.ts'
import type { Clock } from '../ids.ts'
import type { ToldPast } from '../log/past.ts'
import type { Decision } from '../log/rule.ts'
import type { StoredEvent } from '../model/events.ts'
import { visible } from '../model/references.ts'
import type { Person } from '../reads/people.ts'
import { etagOf, type Reply } from '../responses/reply.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Command, Declared, RuleContext } from './command.ts'
import { authorize, decide, idIn, otherProject } from './decide.ts'
import type { LookedUp } from './look-up.ts'
import type { LookupResults, RoutedCommand } from './request.ts'

/** A routed command with its look-ups, in the mailbox of its project. It is also what its rule knows beside the state. */
export class Execution implements QueuedCommand<Reply>, RuleContext {
  readonly id: string
  readonly projectId: string
  readonly otherProjectId: string | undefined
  readonly caller: RoutedCommand['caller']
  readonly needs: Preload | undefined
  readonly ifMatch: string | undefined
  readonly guard: IdempotencyKey | undefined
  readonly ownIds: string[] | undefined
  readonly weight: number | undefined
  readonly opens: boolean
  readonly isRecallable: boolean
  readonly person: Person | undefined
  readonly found: LookupResults | undefined
  past: ToldPast | undefined
  claimed: string[] | undefined
  rejection: HttpError | undefined
  outcome: unknown
  isRejected = false
  since = 0
  resolve = unanswered
  reject = unanswered
  private clock: Clock | undefined
  private hasEvents = false

  constructor(
    private readonly command: Command,
    private readonly routed: RoutedCommand,
    readonly deadline: number,
    readonly limits: RuleContext['limits'],
    { person, found }: LookedUp = {},
  ) {
    const { id, projectId, input, caller, ifMatch, guard } = routed
    this.id = id
    this.projectId = projectId
    this.otherProjectId = command.destination?.(input)
    this.caller = caller
    this.needs = needsOf(command, routed, found)
    this.ifMatch = ifMatch
    this.guard = guard ?? (command.storesReply ? ownKey(id) : undefined)
    this.ownIds = found?.ownIds?.length ? found.ownIds : undefined
    this.weight = command.weight?.(input)
    this.opens = command.target.kind === 'new'
    this.isRecallable = !command.storesReply
    this.person = person
    this.found = found
  }

  /** Another copy of the command may set it while this one is under way. */
  get again(): boolean | undefined {
    return this.routed.again
  }

  get now(): string {
    return this.clock!.now
  }

  newId(): string {
    return this.clock!.newId()
  }

  newEventId(): string {
    if (this.hasEvents) return this.clock!.newId()
    this.hasEvents = true
    return this.clock!.firstIdOf(this.id)
  }

  authorize(state: ProjectState, other: ProjectState): void {
    authorize(this.command, state, this.caller, this.routed.input, other)
  }

  decide(clock: Clock, state: ProjectState, other: ProjectState): Decision<Reply> {
    this.clock = clock
    this.hasEvents = false
    const decision: Decision<unknown> = decide(this.command, state, this, this.routed.input, other)
    decision.answer = replyOf(this.command, decision.answer, this.person)
    return decision as Decision<Reply>
  }

  /** A reply that was not kept follows from the command's first event. */
  recall({ entity, after }: StoredEvent, state: ProjectState): Reply {
    return replyOf(this.command, visible(state, entity, after), this.person)
  }
}

const unanswered = (): void => {}

function needsOf(command: Command, { projectId, taskId, input }: RoutedCommand, found?: LookupResults) {
  const { target: at, preload: needs } = command
  if (at.kind === 'new') return undefined
  if (at.kind === 'project') return needs?.(input, found)
  const leaves = otherProject(command, projectId, input) !== undefined
  const own: Preload = { task: taskId ? [taskId] : [], leaving: leaves ? taskId : undefined }
  if (at.kind !== 'task') own[at.kind] = [idIn(input, at.key)]
  return own
}

/** What a command answers, from what its rule decided: the row's view and ETag, its message, or else the bare answer. */
export function replyOf<Row>(
  { status, view: shows, message: says }: Declared<never, Row>,
  answer: unknown,
  person?: Person,
): Reply {
  const body = shows ? shows.of(answer as Row, person) : says ? { message: says } : answer
  const tag = shows?.tag?.(person, answer as Row)
  const etag = shows && !shows.untagged ? etagOf(answer as { eventId: string }, tag) : null
  return { status, body: JSON.stringify(body), etag }
}
