import { Elysia } from 'elysia'
import type { Query } from '../../src/commands/query.ts'
import type { Http } from '../../src/http/http.ts'
import { inviteMember, removeMember, setRole } from './commands.ts'

export const memberRoutes = ({ guarded, run, ask }: Http, list: Query) =>
  new Elysia({ prefix: '/projects' })
    .use(guarded)
    .post(...run('/:id/members/invite', inviteMember, 'Invite a user by email'))
    .get(...ask('/:id/members', list, 'List the members of a project'))
    .patch(...run('/:id/members/:memberId/role', setRole, "Set a member's role"))
    .delete(...run('/:id/members/:memberId', removeMember, 'Remove a member, or leave'))
