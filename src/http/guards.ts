import { Elysia } from 'elysia'
import { type Scheduler, type Permit, writesIn } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import type { Authenticate } from '../identity/sessions.ts'
import { canonicalId } from '../ids.ts'
import { duplicateParameter, urlTooLong, unknownParameter, maxUrlCharacters } from '../responses/errors.ts'
import { jsonBodyPlugin, signInBodyBytes, requireSmall } from './json-body.ts'
import { addressOf } from './limits/address.ts'
import { type Share, setRateLimitHeaders } from './limits/budget.ts'
import type { BudgetName, Limits } from './limits/limits.ts'

interface Dependencies {
  authenticate: Authenticate
  limits: Limits
  scheduler: Scheduler
  config: Pick<Config, 'bodyBytes' | 'bodyTimeoutMs' | 'trustProxy'>
}

export type Guards = ReturnType<typeof openGuards>

/** The ways into the service, each a plugin for routes to use. */
export const openGuards = (means: Dependencies) => ({
  signInGuard: openSignInGuard(means),
  callerGuard: openCallerGuard(means, 'signed-in-guard', kindOf),
  /** Whatever its method, a request takes from the budget of reads. */
  readGuard: openCallerGuard(means, 'reading-guard', () => 'reads'),
  sessionGuard: openSessionGuard(means),
})

const kindOf = ({ method }: Request): BudgetName =>
  method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'

export function requireShortUrl({ url }: Request): void {
  if (url.length > maxUrlCharacters) throw urlTooLong()
}

/** @throws HttpError 400 naming a parameter that is given twice */
function requireUniqueParameters({ url }: Request): void {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start)) return
  const seen = new Set<string>()
  for (const name of new URLSearchParams(url.slice(start)).keys()) {
    if (seen.has(name)) throw duplicateParameter(name)
    seen.add(name)
  }
}

/** A hook, for routes without parameters: Elysia awaits one that returns a call. @throws HttpError 400 naming the first */
export function requireNoParameters({ request: { url } }: { request: Request }): void {
  const start = url.indexOf('?')
  if (start >= 0)
    for (const name of new URLSearchParams(url.slice(start)).keys()) throw unknownParameter(name)
}

/** A request as its route is to see it. @throws HttpError 400 */
function normalize(request: Request, params: Record<string, string | undefined>): void {
  requireUniqueParameters(request)
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
}

/** The request is answered: the next one of its account may begin. */
function finish({
  response,
  share,
  permit,
}: {
  response: unknown
  share: Share | null
  permit?: Permit
}): void {
  permit?.release()
  if (share && response instanceof Response) setRateLimitHeaders(response.headers, share)
}

/** For clients about to sign in: gives routes the `address`. */
const openSignInGuard = ({ limits, config: { bodyTimeoutMs, trustProxy } }: Dependencies) =>
  new Elysia({ name: 'sign-in-guard' })
    .use(jsonBodyPlugin({ bodyBytes: signInBodyBytes, bodyTimeoutMs }))
    .derive({ as: 'scoped' }, async ({ request, server }) => {
      requireShortUrl(request)
      requireSmall(request, signInBodyBytes) // before the first wait, during which the body would be kept
      const address = addressOf(request, server, trustProxy)
      const share = await limits.takeSignIn(address)
      requireUniqueParameters(request)
      return { address, share }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/** For callers with a token: rejects others with 401 and gives routes the `caller`. */
const openCallerGuard = (
  { authenticate, limits, scheduler, config }: Dependencies,
  name: string,
  kindOf: (request: Request) => BudgetName,
) =>
  new Elysia({ name })
    .use(jsonBodyPlugin(config))
    .derive({ as: 'scoped' }, async ({ request, params }) => {
      requireShortUrl(request)
      const found = authenticate.caller(request)
      const caller = found instanceof Promise ? await found : found
      const taken = limits.budgets?.[kindOf(request)].take(caller) ?? null
      const share = taken instanceof Promise ? await taken : taken
      normalize(request, params)
      const permit = scheduler.acquire(caller.userId, writesIn(request))
      return { caller, share, permit: permit instanceof Promise ? await permit : permit }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/**
 * For callers who signed in: rejects API tokens with 403 and gives routes the `claims`. For writes that end tokens: a retry
 * under an Idempotency-Key may come with a token that the first attempt ended, so the route checks the claims before it
 * does anything new.
 */
const openSessionGuard = ({ authenticate, limits, scheduler, config }: Dependencies) =>
  new Elysia({ name: 'claimed-guard' })
    .use(jsonBodyPlugin(config))
    .derive({ as: 'scoped' }, async ({ request, params, server }) => {
      requireShortUrl(request)
      const claims = await authenticate.session(request)
      const isKeyed = kindOf(request) === 'writes' && request.headers.has('idempotency-key')
      const isHeld = isKeyed ? await authenticate.isUnrevoked(claims) : true
      if (!isKeyed) await authenticate.require(claims)
      // Revoked tokens draw on a separate rate limit.
      const holder = isHeld ? claims.userId : claims.tokenId
      const share = (await limits.budgets?.[kindOf(request)].takeFor(holder)) ?? null
      normalize(request, params)
      const permit = await scheduler.acquire(holder, writesIn(request))
      const address = addressOf(request, server, config.trustProxy)
      return { claims, caller: claims.caller, share, permit, address }
    })
    .onAfterHandle({ as: 'scoped' }, finish)
