import { Type } from '@sinclair/typebox'
import { DryRun } from '../../src/batch/operation-schema.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { roleNeeded, type ProjectCaller } from '../../src/identity/rights.ts'
import { taskIdOf, childEntries, withDefaults, rowBefore } from '../../src/log/rows.ts'
import {
  type UndoInput,
  maxUndoneEvents,
  undoTooLarge,
  type LoggedEvent,
  UndoConflict,
} from '../../src/log/undo-input.ts'
import { type EventDraft, created, updated, isEqual, deleted } from '../../src/model/events.ts'
import { view } from '../../src/model/view.ts'
import type { Module } from '../../src/module.ts'
import { jsonTexts } from '../../src/reads/pages.ts'
import {
  eventsExpired,
  badRequest,
  notFound,
  conflict,
  idTaken,
  mapInOrder,
  withPrefix,
} from '../../src/responses/errors.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { IdOf, Input, maxSeq, WholeNumber } from '../../src/schema/input.ts'
import { Count } from '../../src/schema/response.ts'
import { eventView, type ReadEvent } from '../events/schema.ts'
import { creationNotUndoable } from '../projects/entity.ts'
import { sampleCycle } from '../tasks/blockers.ts'
import { moveNotUndoable, recordNotUndoable } from '../tasks/entity.ts'
import type { MemberRow, TaskRow } from '../../drizzle/rows.ts'
import type { ProjectState, State } from '../../src/actor/state.ts'
import { checkRow } from '../../src/commands/decide.ts'
import type { EventType } from '../../src/model/entities.ts'
import { undoRuleOf, definitionOf, rowAfter } from '../../src/model/model.ts'
import { tooManyMembers } from '../members/entity.ts'
import { keyOf } from '../order/keys.ts'
import { restoredPosition, keySince, type PlacesOfUndo } from '../order/restore.ts'
import { userFields } from '../tasks/schema.ts'

const assigneeNotMember = () => conflict('The previous assignee is no longer a member of the project')

const Seqs = Type.Array(WholeNumber(1, maxSeq, 'the seq of an event', 42), {
  minItems: 1,
  maxItems: maxUndoneEvents,
  uniqueItems: true,
  description: `A list of 1 to ${maxUndoneEvents} different seqs of events`,
  examples: [[42, 43]],
})

const UndoProject = {
  ...Input({
    id: IdOf('project'),
    dryRun: DryRun,
    seq: Type.Optional(WholeNumber(1, maxSeq, 'the seq of an event', 42)),
    batch: Type.Optional(
      WholeNumber(1, maxSeq, 'the value of batch in the events, or the seq of an event without it', 41),
    ),
    seqs: Type.Optional(Seqs),
  }),
  examples: [{ seq: 42 }],
}

interface Undone {
  version: number
  changes: ReadEvent[]
}

/** The maximum number of bytes of events in a response. A single longer event is shown in full. */
const maxResponseBytes = 500_000

const undoneView = view<Undone>({
  name: 'Undone',
  schema: Type.Object({
    version: Count(1, "The project's version after the undo; for a dry run, the current version", 42),
    changes: Type.Array(eventView.schema, {
      description: `The events of the undo, in order; only the first events if all together have more than ${maxResponseBytes} bytes`,
    }),
  }),
  of({ version, changes }) {
    const { length } = jsonTexts(changes, eventView.of, maxResponseBytes)
    return { version, changes: changes.slice(0, length).map((one) => eventView.of(one)) }
  },
  hasNoEtag: true,
})

/** Returns the events as the feed will show them. @param version the project's version before the undo */
function eventsOf(
  all: EventDraft[],
  version: number,
  { caller, now, person }: RuleContext,
  { people }: UndoInput,
) {
  const batch = all.length > 1 ? version + 1 : null
  const namedPeople = person ? new Map([...people, [person.id, person]]) : people
  return all.map((change, n): ReadEvent => {
    const at = { seq: version + 1 + n, batch, actorId: caller.userId, at: now }
    return { ...change, ...at, taskId: taskIdOf(change), people: namedPeople }
  })
}

const about = `Undoes events in one commit, the latest event first. In each new event, \`undoes\` is the seq of the event that is undone. Send exactly one of \`seq\`, \`batch\` (all events of one request) and \`seqs\` (at most ${maxUndoneEvents}). An event can be undone while the fields that it changed still have the values that it set; changes of other fields do not matter. Otherwise the request gets 409 with the seqs of the later changes. An undo requires the same role as the change. To restore a row requires EDITOR, or ADMIN if another user deleted the row. A restored task has its previous id, number, subtasks and comments. A restored member is assigned the tasks that the removal unassigned. Restored rows have the values that they had when they were deleted; changed rows have a new \`updatedAt\`. To redo, undo the undo. Moves between projects, the creation of the project, the end of a claim, and recorded reminders and due dates cannot be undone. With \`dryRun=true\`, nothing is committed, and the response shows the events that an undo would commit.`

const notOneSelection = () => badRequest('Send exactly one of seq, batch and seqs')

/** An undo of more events counts as an expensive request, because the rows of one event may have 80,000 characters. */
const maxCheapSeqs = 10

export const undoProject = command('project.undo', {
  operation: { id: 'undoProject', tag: 'History' },
  about,
  input: UndoProject,
  queryFields: ['dryRun'],
  target: inProject('id'),
  role: 'VIEWER',
  complete(input) {
    const given = [input.seq, input.batch, input.seqs].filter((value) => value !== undefined)
    if (given.length !== 1) throw notOneSelection()
    return input
  },
  preload: ({ seq, batch, seqs = seq === undefined ? undefined : [seq] }) => ({
    undo: { batch, seqs, authorize: authorizeUndo },
  }),
  weight: ({ seqs }) => seqs?.length ?? 1,
  cost: ({ batch, seqs }) => (batch === undefined ? (seqs?.length ?? 1) : 100),
  isExpensive: ({ batch, seqs = [] }) => batch !== undefined || seqs.length > maxCheapSeqs,
  person: (_, { userId }) => ({ by: 'id', key: userId }),
  storesReply: true,
  decide(state, context, { dryRun }) {
    if (state.project) requireMatch(context, state.project)
    const { undo } = context
    if (!undo) throw new Error('The events to undo are not loaded')
    const all = decideUndo(state, context, undo)
    const changes = eventsOf(all, state.version, context, undo)
    if (dryRun === 'true') return { changes: [], answer: { version: state.version, changes } }
    return {
      changes: all,
      isBatch: all.length > 1,
      answer: { version: changes.at(-1)?.seq ?? state.version, changes },
    }
  },
  view: undoneView,
  errors: [
    ...[
      notOneSelection(),
      roleNeeded('EDITOR'),
      roleNeeded('ADMIN'),
      creationNotUndoable(),
      moveNotUndoable(),
      recordNotUndoable(),
    ],
    ...[assigneeNotMember(), sampleCycle(), undoTooLarge(), notFound('Event 42'), eventsExpired(17)],
  ],
})

export const undo: Module = { writes: [['post', '/projects/:id/undo', undoProject, 'Undo changes']] }

/** Decides the inverse events, for the latest event first, and applies each before it decides the next. */
function decideUndo(state: ProjectState, context: RuleContext, undo: UndoInput): EventDraft[] {
  const { events } = undo
  const fork = state.fork()
  const run: UndoState = { state: fork, context, undo, restored: [] }
  const { caller } = context
  const types = authorizeUndo({ caller, role: state.roleOf(caller.userId) }, events)
  const changes: EventDraft[] = []
  const apply = (seq: number, change: EventDraft) => {
    checkRow(fork, change)
    fork.apply(change)
    changes.push({ ...change, undoes: seq })
  }
  forEachEvent(events, (event) => {
    const { seq } = event
    if (event.after) apply(seq, invert(types.get(seq)!, event, run))
    else for (const [of, change] of restore(types.get(seq)!, event, run)) apply(of, change)
  })
  return changes
}

/** Returns the types of the inverse events by seq. Needs only the events, so it can run before other data is loaded. */
function authorizeUndo(projectCaller: ProjectCaller, events: LoggedEvent[]): Map<number, EventType> {
  return new Map(
    forEachEvent(events, (event) => {
      const inverse = undoRuleOf(event.type)
      if (typeof inverse === 'function') throw inverse()
      inverse.admit(projectCaller, event)
      return [event.seq, `${event.entity}.${inverse.by}` as EventType] as const
    }),
  )
}

const forEachEvent = <R>(events: LoggedEvent[], handle: (event: LoggedEvent) => R): R[] =>
  mapInOrder(events, handle, (n, error) =>
    events.length === 1 || error instanceof UndoConflict ? error : withPrefix(`Seq ${events[n]!.seq}`, error),
  )

const accountDeleted = () => conflict('The account of this member was deleted')
const serviceAccountDeleted = () => conflict('A deleted service account cannot be restored: create a new one')

/** Restores a deleted row: a task with its children, a member with the assigned tasks. */
export function* restore(by: EventType, event: LoggedEvent, run: UndoState): Generator<[number, EventDraft]> {
  const { state, context, undo } = run
  const { entity, entityId, taskId, seq } = event
  const task = taskId === null ? undefined : state.row('task', taskId)
  const isInProject = task?.projectId === state.projectId
  if (undo.deletedAgain.has(seq)) throw undoConflict(event, [], run)
  if (entity === 'member') requireCanReturn(event, run)
  else if (entity === 'task') {
    if (isInProject) throw undoConflict(event, [], run)
    if (task) throw idTaken()
  } else if ((taskId && !isInProject) || state.row(entity, entityId)) throw undoConflict(event, [], run)
  const create = (type: EventType, row: object) => created(state, context, type, row as never) as EventDraft
  const row = withDefaults<Row>(entity, event.before as Row)
  const position = entity === 'task' && restoredPosition(row as unknown as TaskRow, seq, run)
  const placed = position ? { ...row, position } : row
  yield [seq, create(by, definitionOf(entity).restored?.(placed as never, undefined) ?? placed)]
  for (const [child, row] of childrenOf(seq, undo))
    yield [seq, create(`${child}.created`, withDefaults(child, row))]
  if (entity === 'member') yield* reassignTasks(event, run)
  const former = entity === 'task' ? fieldsOfFormerMembers(row, run) : []
  if (former.length === 0) return
  const fields = Object.fromEntries(former.map((name) => [name, null]))
  const restored = state.row('task', entityId)!
  yield [seq, updated(state, context, 'task.unassigned', restored, { ...fields, updatedAt: context.now })]
}

function requireCanReturn(event: LoggedEvent, run: UndoState): void {
  const { state, context, undo } = run
  const { userId } = event.before as MemberRow
  const { projectMembers } = context.limits
  if (state.roleOf(userId)) throw undoConflict(event, [], run)
  const person = undo.people.get(userId)
  if (!person) throw accountDeleted()
  if (person.serves) throw serviceAccountDeleted()
  if (state.all('member').length >= projectMembers) throw tooManyMembers(projectMembers)
}

/** Sets the restored member again in fields of tasks that the removal cleared and that are still empty. */
function* reassignTasks(
  { seq, before }: LoggedEvent,
  { state, context, undo }: UndoState,
): Generator<[number, EventDraft]> {
  const { userId } = before as MemberRow
  const all = Map.groupBy(undo.unassignments.get(seq) ?? [], (one) => one.seq)
  for (const [of, cleared] of all) {
    const task = state.row('task', cleared[0]!.entityId)
    if (task?.projectId !== state.projectId) continue
    const empty = cleared.filter(({ name }) => task[name as 'assigneeId'] === null)
    if (empty.length === 0) continue
    const fields = Object.fromEntries(empty.map(({ name }) => [name, userId]))
    yield [of, updated(state, context, 'task.updated', task, { ...fields, updatedAt: context.now })]
  }
}

/** Returns the fields of a task that contain a user who has left the project and whom this undo does not add again. */
const fieldsOfFormerMembers = (task: Row, { state, undo }: UndoState): string[] =>
  userFields.filter((name) => {
    const userId = task[name] as string | null | undefined
    const isRestored = ({ entity, before, after }: LoggedEvent) =>
      entity === 'member' && !after && (before as MemberRow).userId === userId
    return userId && !state.roleOf(userId) && !undo.events.some(isRestored)
  })

export interface UndoState extends PlacesOfUndo {
  /** A copy of the project's state, to which the inverse events are applied. */
  state: State
  context: RuleContext
}

type Row = Record<string, unknown>

/** An undo neither compares nor restores these fields: every change sets them, and a due date is recorded only once. */
const notInverted = ['eventId', 'updatedAt', 'dueAfter']
const isInverted = (name: string) => !notInverted.includes(name)
/** Changes of these fields do not prevent the undo of a creation. */
const ignoredInNewRow = ['position', 'attempts']

const undoConflict = (event: LoggedEvent, fields: string[], { undo }: UndoState) =>
  new UndoConflict(
    event,
    fields,
    undo.events.map(({ seq }) => seq),
  )

const invitationNotUndoable = () =>
  conflict('The invitation of a service account cannot be undone: delete the service account')

/** Restores the fields that an event changed, or deletes the row that the event created. */
function invert(by: EventType, event: LoggedEvent, run: UndoState): EventDraft {
  const { state, context, undo } = run
  const row = currentRow(state, event)
  const rowOf = (logged: object) => withDefaults<Row>(event.entity, logged as Row)
  const [before, after] = [event.before && rowOf(rowBefore(event)!), rowOf(rowAfter(event)!)]
  const isPlaced = event.entity === 'task' && before !== null && !isEqual(after.position, before.position)
  const now = row as Row | null
  const fields = before
    ? Object.keys(after).filter((name) => isInverted(name) && !isEqual(after[name], before[name]))
    : Object.keys({ ...after, ...now }).filter((name) => isInverted(name) && !ignoredInNewRow.includes(name))
  const isUnmoved =
    isPlaced &&
    row !== null &&
    keyOf(row as TaskRow) === keySince(after as unknown as TaskRow, event.seq, run)
  const changedLater = fields.filter((name) =>
    name === 'position' && isPlaced ? !isUnmoved : !isEqual(now?.[name], after[name]),
  )
  if (!row || changedLater.length > 0) throw undoConflict(event, row ? changedLater : [], run)
  if (before) {
    const at = 'updatedAt' in row ? { updatedAt: context.now } : {}
    const logged = Object.fromEntries(fields.map((name) => [name, before[name]]))
    if (event.entity === 'task' && fieldsOfFormerMembers(logged, run).length > 0) throw assigneeNotMember()
    if (isPlaced) logged.position = restoredPosition(before as unknown as TaskRow, event.seq, run)
    const set = definitionOf(event.entity).restored?.(logged as never, row as never) ?? logged
    return updated(state, context, by, row as never, { ...set, ...at } as never)
  }
  if (event.entity === 'task' && hasChildren(event.entityId, run)) throw undoConflict(event, [], run)
  if (undo.people.get((row as { userId?: string }).userId ?? '')?.serves) throw invitationNotUndoable()
  return deleted(state, context, by, row as never)
}

/** Returns the current row; null if it was deleted, or if its task was moved to another project. */
function currentRow(state: State, { entity, entityId, taskId }: LoggedEvent): object | null {
  const row = state.row(entity, entityId)
  if (!row || !taskId) return row ?? null
  if (state.row('task', taskId)?.projectId !== state.projectId) return null
  // After a deletion, a child of another task may have received the same id.
  return entity === 'task' || taskOf(row) === taskId ? row : null
}

/** Returns true if a task has children that this undo does not delete. */
function hasChildren(taskId: string, { state, undo }: UndoState): boolean {
  const ofTask = undo.events.filter((event) => event.taskId === taskId)
  const all = [
    ...undo.currentChildren.filter((one) => one.taskId === taskId),
    ...ofTask.flatMap(({ entity, entityId }) => (entity === 'task' ? [] : { entity, id: entityId })),
    ...ofTask.flatMap(({ seq }) => childrenOf(seq, undo).map(([entity, { id }]) => ({ entity, id }))),
  ]
  return all.some(({ entity, id }) => !state.isLoaded(entity, id) || state.row(entity, id) !== undefined)
}

const childrenOf = (seq: number, { children }: UndoInput) => {
  const deleted = children.get(seq)
  return deleted ? childEntries(deleted) : []
}

const taskOf = (row: object | null): string | undefined => (row as { taskId?: string } | null)?.taskId
