import { badToken } from '../../src/wire/refusals.ts'
import { digested } from '../../src/wire/etags.ts'
import type { Caller } from '../../src/identity/caller.ts'
import type { Session } from '../../src/identity/validity.ts'
import type { Services } from '../../src/services.ts'
import { confirm } from './confirm.ts'
import { changedAccount, etagOfMe, type WantedChanges, withMe } from './change.ts'
import {
  accountById,
  closingOf,
  deleteAccount,
  replaceAccount,
  revokeToken,
  revokeTokens,
} from './queries.ts'
import { messages } from './schema.ts'
import { accountView } from './user.ts'

export interface Me {
  request: Request
  claims: Session
  address: string
}
type Work = Parameters<Services['once']>[3]
type Guess = Parameters<Services['once']>[1]['guess']
type Keep = Parameters<Work>[0]
/** `check` rejects before the work, and before a fingerprint is made. */
export type RunAsMe = (me: Me, body: unknown, work: Work, check?: () => Promise<void>) => Promise<Response>

/** What callers may do about their own account. */
export function openOwnAccount(services: Services) {
  const asMe = openAsMe(services)
  return {
    read: (request: Request, caller: Caller) => readMe(services, request, caller),
    change: (me: Me, body: WantedChanges) => asMe(me, body, (keep) => change(services, me, body, keep)),
    close(me: Me, { password }: { password?: string }) {
      const body = password === undefined ? null : { password }
      const check = () => confirm(services, me, password)
      return asMe(me, body, (keep) => close(services, me, keep), check)
    },
    signOut: (me: Me) => asMe(me, { token: me.claims.tokenId }, (keep) => signOut(services, me, keep)),
    signOutEverywhere: (me: Me) => asMe(me, null, (keep) => signOutEverywhere(services, me, keep)),
  }
}

/** Runs a write on the caller's own account; afterwards nothing that was seen of its tokens is believed. */
export const openAsMe =
  ({ authenticate, limits, once }: Services): RunAsMe =>
  ({ request, claims, address }, body, work, check) => {
    const who = { address, email: claims.userId, accountId: claims.userId }
    const guess: Guess = (isRight) => limits.guess(who, isRight)
    const source = { address, account: claims.userId }
    const admit = async () => {
      await authenticate.require(claims)
      await check?.()
    }
    const by = { scope: claims.userId, guess, source, admit, madeAt: () => '/auth/me' }
    return once(request, by, body, async (keep) => {
      try {
        return await work(keep)
      } finally {
        authenticate.changed(claims.userId)
      }
    })
  }

async function readMe({ database }: Services, request: Request, { userId }: Caller): Promise<Response> {
  const account = await accountById(database.reads, userId)
  if (!account) throw badToken()
  return digested(request, { body: JSON.stringify(accountView(account)), link: null })
}

const change = (services: Services, { request, claims, address }: Me, body: WantedChanges, keep: Keep) =>
  withMe(services, claims, request, async (before) => {
    const after = await changedAccount(services, address, before, { ...body, name: body.name?.trim() })
    const isNew = after.tokenVersion !== before.tokenVersion
    const token = isNew ? { claims: await services.tokens.issue(after.id, after.tokenVersion) } : {}
    const draft = { status: 200, body: accountView(after), etag: etagOfMe(after), ...token }
    return (await replaceAccount(services.database.chores, before, after, keep(draft))) ? draft : null
  })

const close = (services: Services, { request, claims }: Me, keep: Keep) =>
  withMe(services, claims, request, async (account) => {
    const draft = { status: 200, body: { message: messages.deleted } }
    const closing = closingOf(account.id)
    if (!(await deleteAccount(services.database.chores, account, closing, keep(draft)))) return null
    void services.jobs.handOver([closing])
    return draft
  })

async function signOut({ database }: Services, { claims }: Me, keep: Keep) {
  const draft = { status: 200, body: { message: messages.signedOut } }
  await revokeToken(database.chores, claims, keep(draft))
  return draft
}

async function signOutEverywhere({ database }: Services, { claims }: Me, keep: Keep) {
  const draft = { status: 200, body: { message: messages.signedOutEverywhere } }
  const isDone = await revokeTokens(database.chores, claims, keep(draft))
  if (!isDone) throw badToken()
  return draft
}
