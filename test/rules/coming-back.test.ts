import { expect, test } from 'bun:test'
import { comeBack } from '../../modules/undo/come-back.ts'
import type { Undoing } from '../../modules/undo/invert.ts'
import type { LoggedEvent } from '../../src/log/past.ts'
import { editor, memberOf, owner, project, stranger } from './facts.ts'
import { contextOf, folded, refusalOf } from './given.ts'

const before = memberOf(stranger, 'VIEWER')
const removal = { type: 'member.removed', entity: 'member', entityId: before.id, seq: 4, before, after: null }

function back({ projectMembers = 10, decided = [] as object[] }) {
  const trial = folded([])
  trial.project = project
  trial.put('member', 'editor', memberOf(editor, 'EDITOR'))
  const past = {
    ...{ events: [removal], decided, goneAgain: new Set(), elsewhere: new Set(), children: new Map() },
    ...{ taken: new Map(), people: new Map([[stranger, { id: stranger }]]) },
  }
  const known = { ...contextOf(owner), limits: { projectMembers } }
  const undoing = { trial, known, past } as unknown as Undoing
  return [...comeBack('member.invited', removal as unknown as LoggedEvent, undoing)]
}
const invited = [[4, { type: 'member.invited', after: { userId: stranger } }]]

test('a member comes back where the project has room for another one', () => {
  expect(back({ projectMembers: 2 })).toMatchObject(invited)
  expect(refusalOf(() => back({ projectMembers: 1 }))).toEqual({
    status: 409,
    message: 'A project has at most 1 members',
  })
})

test('a member who came back and was removed again in the same commit does not come back by the earlier removal', () => {
  const again = { ...before, id: 'another' }
  expect(back({ decided: [{ ...removal, entityId: again.id, seq: 6, before: again }] })).toMatchObject(
    invited,
  )
  const both = [
    { ...removal, type: 'member.invited', before: null, after: before, seq: 5 },
    { ...removal, seq: 6 },
  ]
  expect(refusalOf(() => back({ decided: both }))?.status).toBe(409)
})
