import type { CommentRow, MemberRow } from '../../drizzle/rows.ts'
import type { FactType, StoredEvent } from '../../src/facts/facts.ts'
import type { Asking } from '../../src/identity/caller.ts'
import { requireRole, type Role } from '../../src/identity/roles.ts'
import { requireScope, scopeOfWrite } from '../../src/identity/scopes.ts'
import { conflict, type Refusal } from '../../src/wire/refusals.ts'
import { notAuthor, requireAdmin } from '../comments/commands.ts'
import { requireFree } from '../members/commands.ts'

/** The inverse of an event type, and the rights that it takes. */
interface Inverse {
  by: FactType
  /** @throws Refusal 403 */
  admit(asking: Asking, event: StoredEvent): void
}

const taking =
  (least: Role): Inverse['admit'] =>
  ({ caller, role }) => {
    requireRole(role, least, 'Project')
    requireScope(caller, scopeOfWrite(least))
  }

const isAuthor = ({ caller }: Asking, { before, after }: StoredEvent) =>
  ((before && !after ? before : after) as CommentRow).authorId === caller.userId

const author: Inverse['admit'] = (asking, event) => {
  if (!isAuthor(asking, event)) throw notAuthor()
}
const authorOrAdmin: Inverse['admit'] = (asking, event) => {
  if (!isAuthor(asking, event)) requireAdmin(asking.role, asking.caller)
}

const [editor, admin] = [taking('EDITOR'), taking('ADMIN')]

/** An undo is no way around moderation: what an ADMIN deleted, its author cannot restore. */
const restoring: Inverse['admit'] = (asking, event) => {
  const isOwn = event.actorId === asking.caller.userId
  const admit = isOwn ? editor : admin
  admit(asking, event)
}
const restoringComment: Inverse['admit'] = (asking, event) => {
  restoring(asking, event)
  authorOrAdmin(asking, event)
}

const removing: Inverse['admit'] = (asking, event) => {
  admin(asking, event)
  if ((event.after as MemberRow).userId === asking.caller.userId) requireFree(asking.caller)
}

export const neverBegun = () => conflict("A project's creation cannot be undone: delete the project")
export const notMovedBack = () => conflict('A move between projects cannot be undone: move the task back')
export const notUndone = () =>
  conflict('Changes of webhooks, service accounts and tokens cannot be undone: make the change again')
const gone = () => conflict('A deleted project does not come back')

/** Of every fact there is, what takes it back, or why nothing does. */
export const inverses: Record<FactType, Inverse | (() => Refusal)> = {
  'project.created': neverBegun,
  'project.updated': { by: 'project.updated', admit: admin },
  'project.deleted': gone,
  'member.invited': { by: 'member.removed', admit: removing },
  'member.role_set': { by: 'member.role_set', admit: admin },
  'member.removed': { by: 'member.invited', admit: admin },
  'task.created': { by: 'task.deleted', admit: editor },
  'task.updated': { by: 'task.updated', admit: editor },
  'task.deleted': { by: 'task.created', admit: restoring },
  'task.unassigned': { by: 'task.updated', admit: editor },
  'task.moved_in': notMovedBack,
  'task.moved_out': notMovedBack,
  'subtask.created': { by: 'subtask.deleted', admit: editor },
  'subtask.updated': { by: 'subtask.updated', admit: editor },
  'subtask.toggled': { by: 'subtask.toggled', admit: editor },
  'subtask.deleted': { by: 'subtask.created', admit: restoring },
  'comment.created': { by: 'comment.deleted', admit: authorOrAdmin },
  'comment.updated': { by: 'comment.updated', admit: author },
  'comment.deleted': { by: 'comment.created', admit: restoringComment },
  'webhook.created': notUndone,
  'webhook.updated': notUndone,
  'webhook.deleted': notUndone,
  'service_account.created': notUndone,
  'service_account.deleted': notUndone,
  'token.created': notUndone,
  'token.deleted': notUndone,
}
