import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { roleNeeded } from '../../src/identity/rights.ts'
import { gone } from '../../src/reads/kept.ts'
import { mostUndone, tooMany, tooMuch } from '../../src/log/overtaken.ts'
import { badRequest, notFound } from '../../src/responses/errors.ts'
import { shownOf, undoneView } from './answer.ts'
import { neverBegun } from '../projects/entity.ts'
import { notMovedBack } from '../tasks/entity.ts'
import { UndoProject } from './schema.ts'
import { notAssignable } from './strangers.ts'
import { authorizeUndo, takeBack } from './take-back.ts'

const about = `The inverse changes as one commit, the latest event first; each says in \`undoes\` which it takes back. Said is one of \`seq\`, \`batch\` (all that one request did) and \`seqs\` (up to ${mostUndone}). Allowed while all that an event changed still holds what it gave, whatever else has changed; else 409 names the seqs that changed it since. Each takes the role that the change took; to restore something takes EDITOR, and ADMIN where somebody else deleted it. A task comes back with its id, number, subtasks and comments, a member with the tasks that the removal took from them; what comes back is as it went last, what is set back has a new \`updatedAt\`. Undoing an undo does it again. Not undone are moves between projects and the project's own creation. With \`dryRun=true\` the same is answered and nothing is done: seqs, ids and times are as they would be.`

export const oneOfThree = () => badRequest('Say exactly one of seq, batch and seqs')

/** From so many events on, an undo takes long: the rows of one event may have 80,000 characters. */
const manySeqs = 10

export const undoProject = command('project.undo', {
  operation: { id: 'undoProject', tag: 'History' },
  about,
  input: UndoProject,
  queryFields: ['dryRun'],
  target: inProject('id'),
  role: 'VIEWER',
  complete(given) {
    const said = [given.seq, given.batch, given.seqs].filter((one) => one !== undefined)
    if (said.length !== 1) throw oneOfThree()
    return given
  },
  preload: ({ seq, batch, seqs = seq === undefined ? undefined : [seq] }) => ({
    past: { batch, seqs, authorize: authorizeUndo },
  }),
  weight: ({ seqs }) => seqs?.length ?? 1,
  cost: ({ batch, seqs }) => (batch === undefined ? (seqs?.length ?? 1) : 100),
  isExpensive: ({ batch, seqs = [] }) => batch !== undefined || seqs.length > manySeqs,
  person: (_, { userId }) => ({ by: 'id', key: userId }),
  storesReply: true,
  decide(state, known, { dryRun }) {
    if (state.project) requireMatch(known, state.project)
    const { past } = known
    if (!past) throw new Error('The log was not asked')
    const all = takeBack(state, known, past)
    const changes = shownOf(all, state.version, known, past)
    if (dryRun === 'true') return { changes: [], answer: { version: state.version, changes } }
    return { changes: all, isBatch: all.length > 1, answer: { version: changes.at(-1)!.seq, changes } }
  },
  view: undoneView,
  errors: [
    ...[oneOfThree(), roleNeeded('EDITOR'), roleNeeded('ADMIN'), neverBegun(), notMovedBack()],
    ...[notAssignable(), tooMany(), tooMuch(), notFound('Event 42'), gone(17)],
  ],
})
