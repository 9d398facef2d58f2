import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { saying, showing } from '../../src/actor/reply.ts'
import { Message, operation } from '../../src/core/docs.ts'
import { notFound } from '../../src/core/errors.ts'
import { isId } from '../../src/core/ids.ts'
import { cut, idPage, pageOf } from '../../src/core/pages.ts'
import { normalEmail } from '../../src/core/text.ts'
import { etagAt } from '../../src/core/versions.ts'
import { pathOf } from '../../src/core/wire.ts'
import type { Services } from '../../src/services.ts'
import { userByEmail } from '../auth/queries.ts'
import { inviteMember, removeMember, setRole } from './decide.ts'
import { type ListedMember, membersOf, openUsersOfMembers } from './queries.ts'
import { InviteBody, ListMembersQuery, MemberView, memberView, RoleBody } from './schema.ts'

const tag = 'Members'

export function memberRoutes({ config, database, actors, doors, standing, serve, write }: Services) {
  const sql = database.reads
  const userOf = openUsersOfMembers(sql)

  return new Elysia({ prefix: '/projects/:id/members' })
    .use(doors.guarded)
    .post(
      '/invite',
      async ({ params: { id }, body, caller, request }) => {
        const user = await userByEmail(sql, normalEmail(body.email))
        const invitation = {
          userId: user?.id,
          role: body.role ?? 'VIEWER',
          mostMembers: config.projectMembers,
        }
        return write(
          request,
          caller,
          body,
          (conditions) =>
            actors.run({
              projectId: id,
              caller,
              ...conditions,
              decide: (state, context) =>
                showing(inviteMember(state, context, invitation), (row) => memberView(row, user), 201),
            }),
          (memberId) => `/projects/${id}/members/${memberId}`,
        )
      },
      {
        jsonBody: true,
        body: InviteBody,
        ...operation({
          tag,
          summary: 'Invite a user by email',
          description: 'The user is a member at once. Takes the role ADMIN.',
          answers: { status: 201, schema: MemberView, description: 'Invited' },
          refuses: [400, 403, 404, 409, 413, 415, 422],
        }),
      },
    )
    .get(
      '',
      async ({ params: { id }, query, caller, request }) => {
        const asked = idPage(query, 50, 200)
        const seen = isId(id) && (await standing({ userId: caller, projectId: id }))
        if (!seen) throw notFound('Project')
        const etag = etagAt(seen, `.${seen.renaming}`)
        return serve(request, pathOf(request), etag, async () => {
          const rows = await membersOf(sql, id, asked)
          return pageOf(request, cut(rows, asked.limit), listedView, (row) => [row.id], etag)
        })
      },
      {
        query: ListMembersQuery,
        ...operation({
          tag,
          summary: 'List the members of a project',
          description: 'Everyone invited, in that order; the owner is not among them.',
          answers: { status: 200, schema: Type.Array(MemberView), description: 'A page of members' },
          refuses: [400, 404],
          conditional: true,
          paged: true,
        }),
      },
    )
    .patch(
      '/:memberId/role',
      ({ params: { id, memberId }, body, caller, request }) =>
        write(request, caller, body, async (conditions) => {
          const user = await userOf(memberId)
          return actors.run({
            projectId: id,
            caller,
            ...conditions,
            decide: (state, context) =>
              showing(setRole(state, context, memberId, body.role), (row) => memberView(row, user)),
          })
        }),
      {
        jsonBody: true,
        body: RoleBody,
        ...operation({
          tag,
          summary: "Set a member's role",
          description: 'Takes the role ADMIN; in force for the very next request.',
          answers: { status: 200, schema: MemberView, description: 'The member as it is now' },
          refuses: [400, 403, 404, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/:memberId',
      ({ params: { id, memberId }, caller, request }) =>
        write(request, caller, null, (conditions) =>
          actors.run({
            projectId: id,
            caller,
            ...conditions,
            decide: (state, context) =>
              saying(removeMember(state, context, memberId), 'Member removed successfully'),
          }),
        ),
      operation({
        tag,
        summary: 'Remove a member, or leave',
        description:
          'An admin removes anyone, everyone may leave. Tasks assigned to the user become unassigned.',
        answers: { status: 200, schema: Message('Member removed successfully'), description: 'Removed' },
        refuses: [400, 403, 404, 412, 422],
      }),
    )
}

function listedView({ userName: name, userEmail: email, ...row }: ListedMember) {
  const user = name !== null && email !== null ? { id: row.userId, name, email } : undefined
  return memberView(row, user)
}
