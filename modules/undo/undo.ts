import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { eventsExpired } from '../../src/reads/retention.ts'
import { maxUndoneEvents, tooManyUndone, undoTooLarge } from '../../src/log/undo-limits.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { eventsOf, undoneView } from './response.ts'
import { creationNotUndoable } from '../projects/entity.ts'
import { moveNotUndoable } from '../tasks/entity.ts'
import { UndoProject } from './schema.ts'
import { assigneeNotMember } from './assignees.ts'
import { authorizeUndo, decideUndo } from './decide-undo.ts'

const about = `Commits the inverse changes as one commit, the latest event first; \`undoes\` is the seq of the event that a change takes back. Give exactly one of \`seq\`, \`batch\` (all events of one request) and \`seqs\` (up to ${maxUndoneEvents}). An undo is allowed while the fields that the event changed still have the values that it set; other changes do not matter. Otherwise 409 names the seqs of the later changes. An undo takes the role that the change took. To restore a row takes EDITOR, or ADMIN if another user deleted it. A task returns with its id, number, subtasks and comments, and a member with the tasks that the removal unassigned. Restored rows are as they were when they were deleted; changed rows have a new \`updatedAt\`. To redo, undo the undo. Moves between projects and the creation of the project cannot be undone. With \`dryRun=true\` the answer is the same, with the seqs, ids and times that it would have, and nothing is committed.`

export const notOneSelection = () => badRequest('Give exactly one of seq, batch and seqs')

/** An undo of more events counts as expensive: the rows of one event may have 80,000 characters. */
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
    return { changes: all, isBatch: all.length > 1, answer: { version: changes.at(-1)!.seq, changes } }
  },
  view: undoneView,
  errors: [
    ...[
      notOneSelection(),
      roleNeeded('EDITOR'),
      roleNeeded('ADMIN'),
      creationNotUndoable(),
      moveNotUndoable(),
    ],
    ...[assigneeNotMember(), tooManyUndone(), undoTooLarge(), notFound('Event 42'), eventsExpired(17)],
  ],
})
