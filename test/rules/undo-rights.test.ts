import { model } from '../kit.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import { undoRuleOf } from '../../src/model/model.ts'
import { type Caller, roles, scopes } from '../../src/identity/rights.ts'
import { editor, viewer } from './events.ts'
import { errorOf } from './given.ts'

/** The lowest role and token scope that may undo each change of another user. */
const expected: Partial<Record<EventType, string>> = {
  ...{ 'project.updated': 'ADMIN admin', 'member.invited': 'ADMIN admin' },
  ...{ 'member.role_set': 'ADMIN admin', 'member.removed': 'ADMIN admin' },
  ...{ 'task.created': 'EDITOR write', 'task.updated': 'EDITOR write', 'task.deleted': 'ADMIN admin' },
  ...{ 'task.claimed': 'EDITOR write', 'task.unassigned': 'EDITOR write', 'subtask.created': 'EDITOR write' },
  ...{ 'subtask.updated': 'EDITOR write', 'subtask.toggled': 'EDITOR write' },
  ...{ 'subtask.deleted': 'ADMIN admin', 'comment.created': 'ADMIN admin' },
  ...{ 'field.created': 'ADMIN admin', 'field.updated': 'ADMIN admin', 'field.deleted': 'ADMIN admin' },
  ...{ 'view.created': 'EDITOR write', 'view.updated': 'EDITOR write', 'view.deleted': 'ADMIN admin' },
  ...{ 'label.created': 'EDITOR write', 'label.updated': 'EDITOR write', 'label.deleted': 'ADMIN admin' },
  ...{ 'comment.updated': 'nobody', 'comment.deleted': 'ADMIN admin' },
}

test('an undo requires the same role and token scope as the inverse change, or the author of a comment', () => {
  const fields = { userId: viewer, authorId: viewer }
  const found: typeof expected = {}
  for (const type of model.eventTypes) {
    const inverse = undoRuleOf(type)
    if (typeof inverse === 'function') continue
    const before = type.endsWith('created') || type === 'member.invited' ? null : fields
    const after = type.endsWith('deleted') || type === 'member.removed' ? null : fields
    const isAllowed = (role: (typeof roles)[number], caller: Caller) =>
      !errorOf(() => inverse.admit({ caller, role }, { before, after } as unknown as StoredEvent))
    const role = roles.find((one) => isAllowed(one, { userId: editor }))
    const withScope = (scope: (typeof scopes)[number]) => ({
      userId: editor,
      token: { id: 't', scope, projects: null },
    })
    const scope = scopes.find((one) => isAllowed('ADMIN', withScope(one)))
    found[type] = role ? `${role} ${scope}` : 'nobody'
    if (type === 'comment.created' || type === 'comment.updated')
      expect([type, isAllowed('VIEWER', { userId: viewer })]).toEqual([type, true])
  }
  expect(found).toEqual(expected)
})
