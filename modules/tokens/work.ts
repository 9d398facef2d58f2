import { digestOfToken, newApiToken } from '../../src/identity/api-tokens.ts'
import type { Session } from '../../src/identity/validity.ts'
import { canonicalId, isId, newId } from '../../src/ids.ts'
import { clockOf } from '../../src/postgres/clock.ts'
import { parseInstant } from '../../src/schema/text.ts'
import type { Draft, Keep } from '../../src/http/once.ts'
import type { Services } from '../../src/services.ts'
import { confirm } from '../accounts/confirm.ts'
import { digested } from '../../src/wire/etags.ts'
import { badToken } from '../../src/wire/refusals.ts'
import { badExpiry, full, noToken } from './limits.ts'
import { deleteToken, type Holder, insertToken, tokensOf } from './queries.ts'
import type { ApiToken, WantedToken } from './schema.ts'

type Work = (holder: Holder, keep: Keep) => Promise<Draft>

/** What somebody who signed in asks about the tokens of an account: their own, or one that they look after. */
export interface Asked {
  request: Request
  claims: Session
  address: string
  /** @throws Refusal for who may not deal with its tokens */
  holder(): Promise<Holder>
  /** Where they are, below /api/v1. */
  path: string
}

/** What may be done about API tokens. */
export function openTokenWork(services: Services) {
  return {
    create: (asked: Asked, body: WantedToken) => create(services, asked, body),
    list: (asked: Asked) => list(services, asked),
    delete: (asked: Asked, id: string) => end(services, asked, id),
  }
}

/** Nothing is answered to who was signed out, not even a repeat: it may hold a token. */
export async function once(services: Services, asked: Asked, body: WantedToken | null, work: Work) {
  const { authenticate, limits, once } = services
  const { request, claims, address, path } = asked
  await authenticate.require(claims)
  const holder = await asked.holder()
  const key = {
    scope: claims.userId,
    guess: (isRight: () => Promise<boolean>) =>
      limits.guess({ address, email: claims.userId, accountId: claims.userId }, isRight),
    source: { address, account: claims.userId },
    // To end a token takes nothing more than a sign-in.
    ...(body && { admit: () => confirm(services, asked, body.password) }),
    madeAt: (id: string) => `${path}/${id}`,
  }
  return once(request, key, body, (keep) => work(holder, keep))
}

const create = (services: Services, asked: Asked, body: WantedToken) =>
  once(services, asked, body, async (holder, keep) => {
    const token = newApiToken()
    const made = await wanted(services, holder.userId, body)
    const draft = { status: 201, body: made, sealed: { token: services.sealing.seal(token) } }
    const stored = { ...made, digest: digestOfToken(token) }
    const outcome = await insertToken(services.database.chores, holder, stored, keep(draft))
    if (outcome === 'full') throw full()
    if (outcome === 'gone') throw badToken()
    return draft
  })

async function list({ authenticate, database }: Services, asked: Asked): Promise<Response> {
  await authenticate.require(asked.claims)
  const tokens = await tokensOf(database.reads, await asked.holder())
  return digested(asked.request, { body: JSON.stringify(tokens), link: null })
}

const end = (services: Services, asked: Asked, id: string) =>
  once(services, asked, null, async ({ userId }, keep) => {
    const draft = { status: 204, body: {} }
    const isEnded = isId(id) && (await deleteToken(services.database.chores, userId, id, keep(draft)))
    services.authenticate.changed(userId)
    if (!isEnded) throw noToken()
    return draft
  })

/** The token that is wanted. @throws Refusal 400 unless it ends within a year from now, by the database's clock */
export async function wanted(
  { database }: Services,
  createdBy: string,
  body: WantedToken,
): Promise<ApiToken> {
  const now = new Date((await clockOf(database.chores)) * 1000)
  const inAYear = new Date(now)
  inAYear.setUTCFullYear(now.getUTCFullYear() + 1)
  const expiresAt = parseInstant(body.expiresAt)!
  if (expiresAt <= now.toISOString() || expiresAt > inAYear.toISOString()) throw badExpiry()
  return {
    id: newId(),
    name: body.name.trim(),
    scopes: [...new Set(body.scopes)],
    projects: body.projects ? [...new Set(body.projects.map(canonicalId))] : null,
    expiresAt,
    createdBy,
    createdAt: now.toISOString(),
    lastUsedAt: null,
  }
}
