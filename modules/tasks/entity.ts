import type { TaskRow } from '../../drizzle/rows.ts'
import { optionalColumns, tasks } from '../../drizzle/schema/tasks.ts'
import { byEditor, entity, factQuery, standardEvents } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { spotFacts } from '../order/place.ts'
import { restoredFacts } from '../order/restore.ts'
import {
  blockerFacts,
  requireNoCycle,
  dependents,
  externalIdFacts,
  requireFreeExternalId,
} from './blockers.ts'
import { withoutClaim } from './claim.ts'
import { movingChildren } from './move.ts'
import { references, taskView, userFields } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    task: {
      row: TaskRow
      event:
        | 'created'
        | 'updated'
        | 'deleted'
        | 'moved_in'
        | 'moved_out'
        | 'unassigned'
        | 'claimed'
        | 'released'
        | 'claim_expired'
        | 'reminded'
        | 'due'
        | 'ready'
    }
  }
}

export const moveNotUndoable = () => conflict('A move between projects cannot be undone: move the task back')

export const recordNotUndoable = () =>
  conflict(
    'The end of a claim, a reminder, a due date and task.ready cannot be undone: change the task again',
  )

export const task = entity<'task'>({
  name: 'task',
  about: 'Pieces of work in a project, each with a status, a priority, a due date and an assignee.',
  table: tasks,
  optionalColumns,
  parent: 'project',
  load: 'by row',
  view: taskView,
  references,
  users: userFields,
  checks: { externalId: requireFreeExternalId, blockedByIds: requireNoCycle },
  factsFor: (fields) => [
    ...externalIdFacts(fields),
    ...blockerFacts(fields),
    ...spotFacts(fields),
    ...restoredFacts(fields),
  ],
  factsToLeave: ({ id }) => [factQuery(dependents, id), factQuery(movingChildren, id)],
  events: {
    ...standardEvents,
    moved_in: moveNotUndoable,
    moved_out: moveNotUndoable,
    unassigned: { by: 'updated', admit: byEditor },
    claimed: { by: 'released', admit: byEditor },
    released: recordNotUndoable,
    claim_expired: recordNotUndoable,
    reminded: recordNotUndoable,
    due: recordNotUndoable,
    ready: recordNotUndoable,
  },
  person: 'claimedBy',
  restored: withoutClaim,
})
