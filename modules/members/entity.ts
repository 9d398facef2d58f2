import type { MemberRow } from '../../drizzle/rows.ts'
import { members } from '../../drizzle/schema/projects.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { type AuthorizeUndo, byAdmin, entity } from '../../src/model/definition.ts'
import { conflict, forbidden } from '../../src/responses/errors.ts'
import { memberView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    member: { row: MemberRow; event: 'invited' | 'role_set' | 'removed' }
  }
}

export const tooManyMembers = (max: number) => conflict(`A project has at most ${max} members`)
export const cannotLeave = () => forbidden('A service account cannot leave its project')

export function requireMayLeave({ token }: Caller): void {
  if (token?.isService) throw cannotLeave()
}

const toRemove: AuthorizeUndo = (projectCaller, event) => {
  byAdmin(projectCaller, event)
  if ((event.after as MemberRow).userId === projectCaller.caller.userId) requireMayLeave(projectCaller.caller)
}

export const member = entity<'member'>({
  name: 'member',
  about: 'The users of a project besides its owner, and their roles.',
  table: members,
  parent: 'project',
  load: 'with project',
  view: memberView,
  person: 'userId',
  events: {
    invited: { by: 'removed', admit: toRemove },
    role_set: { by: 'role_set', admit: byAdmin },
    removed: { by: 'invited', admit: byAdmin },
  },
})
