import { Elysia } from 'elysia'
import { type Scheduler, type Permit, writesIn } from '../admission/scheduler.ts'
import type { Config } from '../config.ts'
import type { Authenticate } from '../identity/sessions.ts'
import { canonicalId } from '../id-format.ts'
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

export const openGuards = (dependencies: Dependencies) => ({
  signInGuard: openSignInGuard(dependencies),
  callerGuard: openCallerGuard(dependencies, 'caller-guard', budgetOf),
  /** Counts every request as a read, whatever its method. */
  readGuard: openCallerGuard(dependencies, 'read-guard', () => 'reads'),
  sessionGuard: openSessionGuard(dependencies),
})

const budgetOf = ({ method }: Request): BudgetName =>
  method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'

export function requireShortUrl({ url }: Request): void {
  if (url.length > maxUrlCharacters) throw urlTooLong()
}

function requireUniqueParameters({ url }: Request): void {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('&', start)) return
  const names = new Set<string>()
  for (const name of new URLSearchParams(url.slice(start)).keys()) {
    if (names.has(name)) throw duplicateParameter(name)
    names.add(name)
  }
}

/** A hook for routes without query parameters. It returns nothing, because Elysia would await a returned value. */
export function requireNoParameters({ request: { url } }: { request: Request }): void {
  const start = url.indexOf('?')
  if (start >= 0)
    for (const name of new URLSearchParams(url.slice(start)).keys()) throw unknownParameter(name)
}

function normalize(request: Request, params: Record<string, string | undefined>): void {
  requireUniqueParameters(request)
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
}

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

/** Guards routes that need no token, and adds the client's `address` to their context. */
const openSignInGuard = ({ limits, config: { bodyTimeoutMs, trustProxy } }: Dependencies) =>
  new Elysia({ name: 'sign-in-guard' })
    .use(jsonBodyPlugin({ bodyBytes: signInBodyBytes, bodyTimeoutMs }))
    .derive({ as: 'scoped' }, async ({ request, server }) => {
      requireShortUrl(request)
      // Runs before the first await, so that no large body stays in memory.
      requireSmall(request, signInBodyBytes)
      const address = addressOf(request, server, trustProxy)
      const share = await limits.takeSignIn(address)
      requireUniqueParameters(request)
      return { address, share }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/** Guards routes that need a token, and adds the `caller` to their context. */
const openCallerGuard = (
  { authenticate, limits, scheduler, config }: Dependencies,
  name: string,
  budgetOf: (request: Request) => BudgetName,
) =>
  new Elysia({ name })
    .use(jsonBodyPlugin(config))
    .derive({ as: 'scoped' }, async ({ request, params }) => {
      requireShortUrl(request)
      const authenticated = authenticate.caller(request)
      const caller = authenticated instanceof Promise ? await authenticated : authenticated
      const taken = limits.budgets?.[budgetOf(request)].take(caller) ?? null
      const share = taken instanceof Promise ? await taken : taken
      normalize(request, params)
      const permit = scheduler.acquire(caller.userId, writesIn(request))
      return { caller, share, permit: permit instanceof Promise ? await permit : permit }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/**
 * Guards routes that need a sign-in token. The first attempt of a request with an Idempotency-Key may have revoked the
 * token. So for such a request, the route first searches for a stored reply and then checks the claims.
 */
const openSessionGuard = ({ authenticate, limits, scheduler, config }: Dependencies) =>
  new Elysia({ name: 'session-guard' })
    .use(jsonBodyPlugin(config))
    .derive({ as: 'scoped' }, async ({ request, params, server }) => {
      requireShortUrl(request)
      const claims = await authenticate.session(request)
      const isKeyed = budgetOf(request) === 'writes' && request.headers.has('idempotency-key')
      const isValid = isKeyed ? await authenticate.isUnrevoked(claims) : true
      if (!isKeyed) await authenticate.require(claims)
      // Revoked tokens draw on a separate rate limit.
      const userId = isValid ? claims.userId : claims.tokenId
      const share = (await limits.budgets?.[budgetOf(request)].take({ userId })) ?? null
      normalize(request, params)
      const permit = await scheduler.acquire(userId, writesIn(request))
      const address = addressOf(request, server, config.trustProxy)
      return { claims, caller: claims.caller, share, permit, address }
    })
    .onAfterHandle({ as: 'scoped' }, finish)
