import { Type } from '@sinclair/typebox'
import { DryRun } from '../../src/batch/operation-schema.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { taskIdOf } from '../../src/log/rows.ts'
import { type UndoInput, maxUndoneEvents, tooManyUndone, undoTooLarge } from '../../src/log/undo-input.ts'
import type { EventDraft } from '../../src/model/events.ts'
import { view } from '../../src/model/view.ts'
import type { Module } from '../../src/module.ts'
import { jsonTexts } from '../../src/reads/pages.ts'
import { eventsExpired } from '../../src/reads/retention.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import { checked, IdOf, Input } from '../../src/schema/input.ts'
import { eventView, type ReadEvent } from '../events/schema.ts'
import { creationNotUndoable } from '../projects/entity.ts'
import { sampleCycle } from '../tasks/blockers.ts'
import { claimNotUndoable, moveNotUndoable, readyNotUndoable, timeNotUndoable } from '../tasks/entity.ts'
import { assigneeNotMember, authorizeUndo, decideUndo } from './decide-undo.ts'

function isSeqs(value: unknown): boolean {
  const isList = Array.isArray(value) && value.length >= 1 && value.length <= maxUndoneEvents
  return isList && value.every(isSeq) && new Set(value).size === value.length
}
const isSeq = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1

const Seqs = checked<number[]>(isSeqs, {
  type: 'array',
  minItems: 1,
  maxItems: maxUndoneEvents,
  uniqueItems: true,
  items: { type: 'integer', minimum: 1 },
  description: `A list of 1 to ${maxUndoneEvents} different seqs of events`,
  examples: [[42, 43]],
})

const Seq = (description: string, example: number) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description, examples: [example] }),
  )

const fields = {
  id: IdOf('project'),
  dryRun: DryRun,
  seq: Seq('A whole number, the seq of an event', 42),
  batch: Seq('A whole number, the value of batch in the events', 41),
  seqs: Type.Optional(Seqs),
}
const UndoProject = { ...Input(fields), examples: [{ seq: 42 }] }

interface Undone {
  version: number
  changes: ReadEvent[]
}

/** The maximum number of bytes of events in a response. A single longer event is shown in full. */
const maxResponseBytes = 500_000

const undoneView = view<Undone>({
  name: 'Undone',
  schema: Type.Object({
    version: Type.Integer({
      minimum: 1,
      description: "The project's version after the undo; for a dry run, the current version",
      examples: [42],
    }),
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
      claimNotUndoable(),
      timeNotUndoable(),
      readyNotUndoable(),
    ],
    ...[
      assigneeNotMember(),
      sampleCycle(),
      tooManyUndone(),
      undoTooLarge(),
      notFound('Event 42'),
      eventsExpired(17),
    ],
  ],
})

export const undo: Module = { writes: [['post', '/projects/:id/undo', undoProject, 'Undo changes']] }
