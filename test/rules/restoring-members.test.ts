import { restore, type UndoState } from '../../modules/undo/decide-undo.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'
import { editor, memberOf, owner, project, stranger } from './events.ts'
import { contextOf, folded, errorOf } from './given.ts'

const before = memberOf(stranger, 'VIEWER')
const removal = { type: 'member.removed', entity: 'member', entityId: before.id, seq: 4, before, after: null }

function restoreMember({ projectMembers = 10, pendingEvents = [] as object[] }) {
  const state = folded([])
  state.project = project
  state.put('member', 'editor', memberOf(editor, 'EDITOR'))
  const undo = {
    ...{
      events: [removal],
      pendingEvents,
      deletedAgain: new Set(),
      movedAway: new Set(),
      children: new Map(),
    },
    ...{ unassignments: new Map(), respacings: [], people: new Map([[stranger, { id: stranger }]]) },
  }
  const context = { ...contextOf(owner), limits: { projectMembers } }
  const run = { state, context, undo } as unknown as UndoState
  return [...restore('member.invited', removal as unknown as LoggedEvent, run)]
}
const invited = [[4, { type: 'member.invited', after: { userId: stranger } }]]

test('an undo restores a member unless the project has the maximum number of members', () => {
  expect(restoreMember({ projectMembers: 2 })).toMatchObject(invited)
  expect(errorOf(() => restoreMember({ projectMembers: 1 }))).toEqual({
    status: 409,
    message: 'A project has at most 1 members',
  })
})

test('the undo of an earlier removal is rejected if the same commit restored and removed the member again', () => {
  const again = { ...before, id: 'another' }
  expect(
    restoreMember({ pendingEvents: [{ ...removal, entityId: again.id, seq: 6, before: again }] }),
  ).toMatchObject(invited)
  const both = [
    { ...removal, type: 'member.invited', before: null, after: before, seq: 5 },
    { ...removal, seq: 6 },
  ]
  expect(errorOf(() => restoreMember({ pendingEvents: both }))?.status).toBe(409)
})
