import { Elysia } from 'elysia'
import { Message, operation } from '../../src/schema/operation.ts'
import { unauthorized } from '../../src/wire/refusals.ts'
import { digested } from '../../src/wire/etags.ts'
import { newId } from '../../src/ids.ts'
import type { Session } from '../../src/identity/sessions.ts'
import type { Services } from '../../src/services.ts'
import { UserView, userView } from './user.ts'
import { changedAccount, etagOfMe, withMe } from './change.ts'
import { accountById, deleteAccount, replaceAccount, revokeToken, revokeTokens } from './queries.ts'
import { ChangedMeView, UpdateMeBody } from './schema.ts'

const tag = 'Authentication'
type Me = { claims: Session; address: string }
type Work = Parameters<Services['once']>[3]
type Guess = Parameters<Services['once']>[1]['guess']

export function accountRoutes(services: Services) {
  const { authenticate, database, guards, jobs, limits, once, tokens } = services
  const sql = database.chores

  /** Runs a write on the caller's own account; afterwards nothing that was seen of its tokens is believed. */
  const asMe = (request: Request, { claims, address }: Me, body: unknown, work: Work) => {
    const guess: Guess = (isRight) => limits.guess({ address, email: claims.userId }, isRight)
    return once(request, { scope: claims.userId, guess }, body, async (keep) => {
      await authenticate.require(claims)
      try {
        return await work(keep)
      } finally {
        authenticate.changed(claims.userId)
      }
    })
  }
  const ifMatchOf = (request: Request) => request.headers.get('if-match') ?? undefined

  const reading = new Elysia().use(guards.guarded).get(
    '/me',
    async ({ caller, request }) => {
      const account = await accountById(database.reads, caller.userId)
      if (!account) throw unauthorized('The bearer token is not valid')
      return digested(request, { body: JSON.stringify(userView(account)), link: null })
    },
    operation({
      tag,
      summary: 'Who am I',
      answers: { status: 200, schema: UserView, description: 'The caller' },
      conditional: true,
    }),
  )

  const writing = new Elysia()
    .use(guards.claimed)
    .patch(
      '/me',
      ({ address, body, claims, request }) =>
        asMe(request, { claims, address }, body, (keep) =>
          withMe(services, claims, ifMatchOf(request), async (before) => {
            const after = await changedAccount(services, address, before, {
              ...body,
              name: body.name?.trim(),
            })
            const isNew = after.tokenVersion !== before.tokenVersion
            const token = isNew ? { claims: await tokens.issue(after.id, after.tokenVersion) } : {}
            const draft = { status: 200, body: userView(after), etag: etagOfMe(after), ...token }
            return (await replaceAccount(sql, before, after, keep(draft))) ? draft : null
          }),
        ),
      {
        jsonBody: true,
        body: UpdateMeBody,
        ...operation({
          tag,
          summary: 'Change my name or password',
          description:
            'Absent fields stay. A new password takes the current one (403 when it is wrong), ends every token and is answered with a fresh one.',
          answers: { status: 200, schema: ChangedMeView, description: 'The caller as they are now' },
          refuses: [400, 403, 412, 413, 415, 422],
        }),
      },
    )
    .delete(
      '/me',
      ({ address, claims, request }) =>
        asMe(request, { claims, address }, null, (keep) =>
          withMe(services, claims, ifMatchOf(request), async (account) => {
            const draft = { status: 200, body: { message: 'Account deleted successfully' } }
            const closing = { id: newId(), name: 'close-account', data: { userId: account.id } } as const
            if (!(await deleteAccount(sql, account, closing, keep(draft)))) return null
            void jobs.handOver([{ ...closing, projectId: null }])
            return draft
          }),
        ),
      operation({
        tag,
        summary: 'Delete my account',
        description:
          'At once and for good: its tokens, its projects and its memberships. Comments stay, their author shown as removed.',
        answers: { status: 200, schema: Message('Account deleted successfully'), description: 'Deleted' },
        refuses: [400, 412, 422],
      }),
    )
    .post(
      '/logout',
      ({ address, claims, request }) =>
        asMe(request, { claims, address }, { token: claims.tokenId }, async (keep) => {
          const draft = { status: 200, body: { message: 'Signed out successfully' } }
          await revokeToken(sql, claims, keep(draft))
          return draft
        }),
      operation({
        tag,
        summary: 'Sign out',
        description: 'The token of this request is refused from now on, everywhere within a second.',
        answers: { status: 200, schema: Message('Signed out successfully'), description: 'Signed out' },
        refuses: [400, 422],
      }),
    )
    .post(
      '/logout-all',
      ({ address, claims, request }) =>
        asMe(request, { claims, address }, null, async (keep) => {
          const draft = { status: 200, body: { message: 'Signed out everywhere successfully' } }
          if (!(await revokeTokens(sql, claims, keep(draft))))
            throw unauthorized('The bearer token is not valid')
          return draft
        }),
      operation({
        tag,
        summary: 'Sign out everywhere',
        description: 'Every token of the caller is refused from now on, everywhere within a second.',
        answers: {
          status: 200,
          schema: Message('Signed out everywhere successfully'),
          description: 'Signed out',
        },
        refuses: [400, 422],
      }),
    )

  return new Elysia({ prefix: '/auth' }).use(reading).use(writing)
}
