import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { eventsExpired } from '../../src/reads/retention.ts'
import { maxUndoneEvents, tooManyUndone, undoTooLarge } from '../../src/log/undo-limits.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { eventsOf, undoneView } from './response.ts'
import { creationNotUndoable } from '../projects/entity.ts'
import { sampleCycle } from '../tasks/blockers.ts'
import { claimNotUndoable, moveNotUndoable, timeNotUndoable } from '../tasks/entity.ts'
import { UndoProject } from './schema.ts'
import { assigneeNotMember } from './assignees.ts'
import { authorizeUndo, decideUndo } from './decide-undo.ts'

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
