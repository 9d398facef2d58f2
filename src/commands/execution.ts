import type { QueuedCommand } from '../actor/queued-command.ts'
import type { Preload } from '../actor/preload.ts'
import type { ProjectState } from '../actor/state.ts'
import { commandKey } from '../commit/idempotency.ts'
import type { Clock } from '../ids.ts'
import type { Decision } from '../log/rule.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Caller } from '../identity/rights.ts'
import type { Entity } from '../model/entities.ts'
import { isPlainInput, model } from '../model/model.ts'
import { hideDeletedReferences, referencedTasks } from '../model/references.ts'
import type { Person } from '../reads/people.ts'
import { etagOf, type Reply } from '../responses/reply.ts'
import type { Command, WriteDefinition, RuleContext } from './command.ts'
import { authorize, decide, idIn, destinationOf } from './decide.ts'
import type { IfClaim } from './if-claim.ts'
import type { LookupResults, RoutedCommand } from './request.ts'

/** A routed command with its look-up results. The object is also the rule's context, because a copy would cost time. */
export class Execution implements QueuedCommand<Reply>, RuleContext {
  readonly id: string
  readonly projectId: string
  readonly caller: Caller
  readonly destinationId: string | undefined
  readonly preload: Preload | undefined
  readonly ifMatch: string | undefined
  readonly ifClaim: IfClaim | undefined
  readonly guard: QueuedCommand['guard']
  readonly clientIds: string[] | undefined
  readonly weight: number | undefined
  readonly createsProject: boolean
  readonly isRecallable: boolean
  readonly person: Person | undefined
  undo: QueuedCommand['undo']
  claimedIds: string[] | undefined
  rejection: QueuedCommand['rejection']
  outcome: unknown
  isRejected = false
  unit: QueuedCommand['unit']
  unknownAt: number | undefined
  since = 0
  resolve: (reply: Reply) => void = notQueued
  reject = notQueued
  private clock: Clock | undefined
  private hasEvents = false

  constructor(
    private readonly command: Command,
    private readonly routed: RoutedCommand,
    readonly deadline: number,
    readonly limits: RuleContext['limits'],
    readonly lookupResults?: LookupResults,
  ) {
    const { id, projectId, input, caller, ifMatch, ifClaim, guard } = routed
    this.id = id
    this.projectId = projectId
    this.caller = caller
    this.destinationId = command.destination?.(input)
    const preload = preloadOf(command, routed, lookupResults)
    this.preload = ifClaim ? withClaimedTask(preload, ifClaim) : preload
    this.ifMatch = ifMatch
    this.ifClaim = ifClaim
    this.guard = guard ?? (command.storesReply ? commandKey(id) : undefined)
    this.clientIds = lookupResults?.clientIds?.length ? lookupResults.clientIds : undefined
    this.weight = command.weight?.(input)
    this.createsProject = command.target.kind === 'new'
    this.isRecallable = !command.storesReply
    this.person = lookupResults?.people[0] ?? undefined
  }

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

  authorize(state: ProjectState, destination: ProjectState): void {
    authorize(this.command, state, this.caller, this.routed.input, destination)
  }

  decide(clock: Clock, state: ProjectState, destination: ProjectState): Decision<Reply> {
    this.clock = clock
    this.hasEvents = false
    const decision: Decision<unknown> = decide(this.command, state, this, this.routed.input, destination)
    const { answer } = decision
    const reply = replyOf(this.command, answer, personIn(state, answer, this.person))
    if (this.command.creates && decision.changes[0]?.before === null) reply.status = 201
    decision.answer = reply
    return decision as Decision<Reply>
  }

  recall({ entity, before, after }: StoredEvent, state: ProjectState): Reply {
    const answer = hideDeletedReferences(state, entity, after)
    const reply = replyOf(this.command, answer, personIn(state, answer, this.person))
    return this.command.creates && !before ? { ...reply, status: 201 } : reply
  }
}

/** Returns the account that the row's view shows: the holder of its claim, or else the account that was looked up. */
export function personIn({ people }: ProjectState, row: unknown, lookedUp?: Person): Person | undefined {
  const id = (row as { claimedBy?: string | null } | undefined)?.claimedBy
  if (!id) return lookedUp
  // If this command began the claim, later commands of the batch show the name that was looked up.
  if (id === lookedUp?.id) people.set(id, lookedUp)
  return people.get(id) ?? lookedUp
}

const withClaimedTask = (preload: Preload | undefined, { taskId }: IfClaim): Preload => ({
  ...preload,
  task: [...(preload?.task ?? []), taskId],
})

/** Returns the rows and facts that the command declares, and those that the checks of its input need. */
export function needsOf(
  { noun, preload }: Command,
  input: object,
  lookupResults?: LookupResults,
): Preload | undefined {
  const [entity, declared] = [noun as Entity, preload?.(input, lookupResults)]
  if (isPlainInput(entity, input)) return declared
  const facts = model().entities[entity]?.factsFor?.(input) ?? []
  return {
    ...declared,
    facts: [...(declared?.facts ?? []), ...facts],
    referencedTasks: referencedTasks(entity, input),
  }
}

const notQueued = (_: unknown): void => {}

function preloadOf(
  command: Command,
  { projectId, taskId, input }: RoutedCommand,
  lookupResults?: LookupResults,
) {
  const { target } = command
  if (target.kind === 'new') return undefined
  const given = needsOf(command, input, lookupResults)
  if (target.kind === 'project') return given
  const leaves = destinationOf(command, projectId, input) !== undefined
  const own: Preload = { task: taskId ? [taskId] : [], movingTaskId: leaves ? taskId : undefined }
  if (target.kind !== 'task') own[target.kind] = [idIn(input, target.key)]
  return given ? { ...given, ...own } : own
}

export function replyOf<Row>(
  { status, view, message, emptyReply, isSecret }: WriteDefinition<never, Row>,
  answer: unknown,
  person?: Person,
): Reply {
  if (emptyReply && answer === undefined) return { status: 204, body: '', etag: null }
  const content = view ? view.of(answer as Row, person) : message ? { message } : (answer ?? {})
  const tag = view?.etagSuffix?.(answer as Row, person)
  const etag = view && !view.hasNoEtag ? etagOf(answer as { eventId: string }, tag) : null
  const { id, version } = content as { id?: string; version?: number }
  return {
    status,
    body: JSON.stringify(content),
    etag,
    id,
    version,
    content: isSecret ? (content as object) : undefined,
  }
}
