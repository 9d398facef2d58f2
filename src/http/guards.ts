import { Elysia } from 'elysia'
import { type Scheduler, type Turn, writesIn } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import type { Authenticate } from '../identity/sessions.ts'
import { canonicalId } from '../ids.ts'
import { givenTwice, tooLong, unknownParameter, urlCharacters } from '../responses/errors.ts'
import { bodyReading, openBodyBytes, requireSmall } from './json-body.ts'
import { addressOf } from './limits/address.ts'
import { type Share, tell } from './limits/budget.ts'
import type { Kind, Limits } from './limits/limits.ts'

interface Means {
  authenticate: Authenticate
  limits: Limits
  scheduler: Scheduler
  config: Pick<Config, 'bodyBytes' | 'bodyTimeoutMs' | 'trustProxy'>
}

export type Guards = ReturnType<typeof openGuards>

/** The ways into the service, each a plugin for routes to use. */
export const openGuards = (means: Means) => ({
  signIn: signInGuard(means),
  guarded: callerGuard(means, 'signed-in-guard', kindOf),
  /** Whatever its method, a request takes from the budget of reads. */
  reading: callerGuard(means, 'reading-guard', () => 'reads'),
  claimed: claimsGuard(means),
})

const kindOf = ({ method }: Request): Kind => (method === 'GET' || method === 'HEAD' ? 'reads' : 'writes')

export function requireShort({ url }: Request): void {
  if (url.length > urlCharacters) throw tooLong()
}

/** @throws HttpError 400 naming a parameter that is given twice */
function requireSingle({ url }: Request): void {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start)) return
  const seen = new Set<string>()
  for (const name of new URLSearchParams(url.slice(start)).keys()) {
    if (seen.has(name)) throw givenTwice(name)
    seen.add(name)
  }
}

/** A hook, for routes without parameters: Elysia awaits one that returns a call. @throws HttpError 400 naming the first */
export function requireNone({ request: { url } }: { request: Request }): void {
  const start = url.indexOf('?')
  if (start >= 0)
    for (const name of new URLSearchParams(url.slice(start)).keys()) throw unknownParameter(name)
}

/** A request as its route is to see it. @throws HttpError 400 */
function tidy(request: Request, params: Record<string, string | undefined>): void {
  requireSingle(request)
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
}

/** The request is answered: the next one of its account may begin. */
function finish({ response, share, turn }: { response: unknown; share: Share | null; turn?: Turn }): void {
  turn?.end()
  if (share && response instanceof Response) tell(response.headers, share)
}

/** For clients about to sign in: gives routes the `address`. */
const signInGuard = ({ limits, config: { bodyTimeoutMs, trustProxy } }: Means) =>
  new Elysia({ name: 'sign-in-guard' })
    .use(bodyReading({ bodyBytes: openBodyBytes, bodyTimeoutMs }))
    .derive({ as: 'scoped' }, async ({ request, server }) => {
      requireShort(request)
      requireSmall(request, openBodyBytes) // before the first wait, during which the body would be kept
      const address = addressOf(request, server, trustProxy)
      const share = await limits.enter(address)
      requireSingle(request)
      return { address, share }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/** For callers with a token: rejects others with 401 and gives routes the `caller`. */
const callerGuard = (
  { authenticate, limits, scheduler, config }: Means,
  name: string,
  kindOf: (request: Request) => Kind,
) =>
  new Elysia({ name })
    .use(bodyReading(config))
    .derive({ as: 'scoped' }, async ({ request, params }) => {
      requireShort(request)
      const found = authenticate.caller(request)
      const caller = found instanceof Promise ? await found : found
      const taken = limits.budgets?.[kindOf(request)].take(caller) ?? null
      const share = taken instanceof Promise ? await taken : taken
      tidy(request, params)
      const turn = scheduler.enter(caller.userId, writesIn(request))
      return { caller, share, turn: turn instanceof Promise ? await turn : turn }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/**
 * For callers who signed in: rejects API tokens with 403 and gives routes the `claims`. For writes that end tokens: a retry
 * under an Idempotency-Key may come with a token that the first attempt ended, so the route checks the claims before it
 * does anything new.
 */
const claimsGuard = ({ authenticate, limits, scheduler, config }: Means) =>
  new Elysia({ name: 'claimed-guard' })
    .use(bodyReading(config))
    .derive({ as: 'scoped' }, async ({ request, params, server }) => {
      requireShort(request)
      const claims = await authenticate.session(request)
      const isKeyed = kindOf(request) === 'writes' && request.headers.has('idempotency-key')
      const isHeld = isKeyed ? await authenticate.holdsInTime(claims) : true
      if (!isKeyed) await authenticate.require(claims)
      // Revoked tokens draw on a separate rate limit.
      const holder = isHeld ? claims.userId : claims.tokenId
      const share = (await limits.budgets?.[kindOf(request)].takeOwn(holder)) ?? null
      tidy(request, params)
      const turn = await scheduler.enter(holder, writesIn(request))
      const address = addressOf(request, server, config.trustProxy)
      return { claims, caller: claims.caller, share, turn, address }
    })
    .onAfterHandle({ as: 'scoped' }, finish)
