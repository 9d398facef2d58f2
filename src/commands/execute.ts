import type { Actors } from '../actor/actors.ts'
import type { Preload } from '../actor/load.ts'
import { QueuedCommand } from '../actor/decide-group.ts'
import type { ProjectState } from '../actor/state.ts'
import { commandKey } from '../commit/idempotency.ts'
import { isId } from '../id-format.ts'
import { type Clock, isAhead } from '../ids.ts'
import type { Decision, StoredEvent } from '../model/events.ts'
import type { Log } from '../logger.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import { hideDeletedReferences, referencedTasks } from '../model/references.ts'
import type { FindRole } from '../reads/lookups.ts'
import type { FindPerson, Person } from '../reads/people.ts'
import { idTaken, unavailable } from '../responses/errors.ts'
import { etagOf, type Reply } from '../responses/reply.ts'
import { throttle } from '../waits.ts'
import type { Command, RuleContext, WriteDefinition, LookupResults, RoutedCommand } from './command.ts'
import { authorize, clientIdIn, decide, destinationOf, idIn } from './decide.ts'
import type { RowLocations } from './row-locations.ts'
import type { IfClaim } from '../model/claims.ts'

/** Executes a command in this process. @param deadline on the clock of performance.now() */
export type Execute = (command: Command, routed: RoutedCommand, deadline: number) => Promise<Reply>

interface ExecuteDependencies {
  actors: Actors
  findRole: FindRole
  findPerson: FindPerson
  rowLocations: Pick<RowLocations, 'isTaken'>
  limits: RuleContext['limits']
  /** For a command that reads the log: throws its error again, with details from the log. */
  explain?: (error: unknown) => Promise<never>
  log?: Log
}

/** A command that the first check of role and scope rejects causes no look-up and no lease. */
export function openExecute(dependencies: ExecuteDependencies): Execute {
  const { actors, findRole, limits, explain, log } = dependencies
  const warn = throttle(60_000, (id: string) =>
    log?.warn(
      { id },
      'a command was rejected: the clock of the process that sent it is ahead of the clock of the database',
    ),
  )
  async function prepare(command: Command, routed: RoutedCommand, deadline: number, isKnown: boolean) {
    if (!isKnown)
      await requireAuthorized(findRole, command, routed).catch((error: unknown) => {
        // A retried command may be committed already. Its actor searches the log first.
        if (!routed.again) throw error
      })
    const lookupResults = hasLookups(command, routed.input)
      ? await lookUp(dependencies, command, routed)
      : undefined
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
    return isKnown && !hasLookups(command, routed.input)
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

const hasLookups = (command: Command, input: object): boolean =>
  command.person !== undefined || command.lookups !== undefined || clientIdIn(command, input) !== undefined

/** Concurrent look-ups of one kind share a query. */
async function lookUp(
  { findPerson, rowLocations }: ExecuteDependencies,
  command: Command,
  { input, caller }: RoutedCommand,
): Promise<LookupResults> {
  const { people, clientIds } = command.lookups?.(input, caller) ?? {
    people: [command.person?.(input, caller)],
    clientIds: [clientIdIn(command, input) ?? []].flat(),
  }
  const [found, taken] = await Promise.all([
    Promise.all(people.map(async (key) => (key && (await findPerson(key))) ?? null)),
    Promise.all(clientIds.map(rowLocations.isTaken)),
  ])
  return { people: found, clientIds, takenIds: clientIds.filter((_, n) => taken[n]) }
}

/** Checks roles in memory, which may be out of date: after false, the database is read; after true, the actor checks again. */
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

/** A routed command with its look-up results. The object is also the rule's context, because a copy would cost time. */
class Execution extends QueuedCommand<Reply> implements RuleContext {
  readonly ifMatch: string | undefined
  readonly ifClaim: IfClaim | undefined
  readonly person: Person | undefined
  private clock: Clock | undefined
  private hasEvents = false

  constructor(
    private readonly command: Command,
    private readonly routed: RoutedCommand,
    deadline: number,
    readonly limits: RuleContext['limits'],
    readonly lookupResults?: LookupResults,
  ) {
    super(routed, deadline)
    const { input, ifMatch, ifClaim, guard } = routed
    this.destinationId = command.destination?.(input)
    this.preload = preloadOf(command, routed)
    this.ifMatch = ifMatch
    this.ifClaim = ifClaim
    this.guard = guard ?? (command.storesReply ? commandKey(routed.id) : undefined)
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
  // If this command began the claim, later commands of the group show the name that was looked up.
  if (id === lookedUp?.id) people.set(id, lookedUp)
  return people.get(id) ?? lookedUp
}

/** Returns the rows and facts that the command declares, or that the checks of its input need. */
export function declaredPreload({ noun, preload }: Command, input: object): Preload | undefined {
  const [entity, declared] = [noun as Entity, preload?.(input)]
  const facts = model().entities[entity]?.factsFor?.(input) ?? []
  const tasks = referencedTasks(entity, input)
  if (facts.length === 0 && tasks.length === 0) return declared
  return {
    ...declared,
    facts: [...(declared?.facts ?? []), ...facts],
    referencedTasks: [...(declared?.referencedTasks ?? []), ...tasks],
  }
}

function preloadOf(command: Command, { projectId, input, ifClaim }: RoutedCommand): Preload | undefined {
  const { target } = command
  const given = target.kind === 'new' ? undefined : declaredPreload(command, input)
  const own: Preload = {}
  if (target.kind !== 'new' && target.kind !== 'project') {
    const id = idIn(input, target.key)
    own[target.kind] = [id]
    if (destinationOf(command, projectId, input) !== undefined) own.movingTaskId = id
  } else if (!ifClaim) return given
  if (ifClaim) own.task = [...(own.task ?? given?.task ?? []), ifClaim.taskId]
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
