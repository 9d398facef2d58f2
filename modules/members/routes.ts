import type { Module } from '../../src/module.ts'
import { childList } from '../../src/routes/child-list.ts'
import { inviteMember, removeMember, setRole } from './commands.ts'
import { member } from './entity.ts'

const about = 'Returns the members in order of invitation. The owner is not in the list.'

export const members = {
  entity: member,
  writes: [
    ['post', '/projects/:id/members/invite', inviteMember, 'Invite a user by email'],
    ['patch', '/projects/:id/members/:memberId/role', setRole, "Set a member's role"],
    ['delete', '/projects/:id/members/:memberId', removeMember, 'Remove a member, or leave'],
  ],
  reads: (services) => [
    [
      '/projects/:id/members',
      childList(services, member, services.findRole, about),
      'List the members of a project',
    ],
  ],
} satisfies Module
