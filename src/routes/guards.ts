import { Elysia } from 'elysia'
import { type Permit, writesIn } from '../admission/fair-queue.ts'
import type { RouteRequest } from '../commands/command.ts'
import type { Caller } from '../identity/rights.ts'
import { canonicalId } from '../id-format.ts'
import {
  duplicateParameter,
  invalidToken,
  urlTooLong,
  unknownParameter,
  maxUrlCharacters,
} from '../responses/errors.ts'
import { addressOf } from '../proxies.ts'
import type { Services } from '../services.ts'
import { type ReadBody, signInBodyBytes, requireSmall } from '../http/json-body.ts'
import { type Share, setRateLimitHeaders, type BudgetName } from '../http/limits.ts'

export const openGuards = (services: Services) => ({
  signInGuard: openSignInGuard(services),
  callerGuard: openCallerGuard(services, 'caller-guard'),
  /** For uploads, which are never in memory as a whole: a long body takes no more slots than a short body. */
  uploadGuard: openCallerGuard(services, 'upload-guard', budgetOf, () => 1),
  /** Counts every request as a read, whatever its method. */
  readGuard: openCallerGuard(services, 'read-guard', () => 'reads'),
  sessionGuard: openSessionGuard(services),
})

const budgetOf = ({ method }: Request): BudgetName =>
  method === 'GET' || method === 'HEAD' ? 'reads' : 'writes'

/**
 * The maximum length of `q` is 1,000 characters. A longer `q` gets the 400 of this limit, not the error for a long URL.
 */
const SEARCH = /^[^?]*\/api\/v1\/(search|tasks(\/counts)?)\?(.*&)?q=/

export function requireShortUrl({ url }: Request): void {
  if (url.length > maxUrlCharacters && !SEARCH.test(url)) throw urlTooLong()
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

function requireNoParameters({ url }: Request): void {
  const start = url.indexOf('?')
  if (start >= 0)
    for (const name of new URLSearchParams(url.slice(start)).keys()) throw unknownParameter(name)
}

function normalize(request: Request, params: Record<string, string | undefined>): void {
  requireUniqueParameters(request)
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
}

export type GuardedContext = RouteRequest & {
  /** Authenticates the request, and adds the caller, the share and the permit. Set for routes that need a token. */
  admit?: Admit
  share?: Share | null
}

/** Returns a promise only if a step must wait. @throws HttpError */
type Admit = (context: GuardedContext) => void | Promise<void>

interface Steps {
  hasQuery?: boolean
  readBody?: ReadBody
}
type Respond<Context> = (context: Context) => Response | Promise<Response>

/**
 * Returns the handler of a route. Elysia prepares every part of the request that a handler's source text names. The text
 * of a bound function names none.
 */
export const guarded = <Context>(respond: Respond<Context>, steps: Steps = {}) =>
  handle.bind({ respond: respond as Respond<unknown>, ...steps }) as unknown as Respond<Context>

async function handle(this: Steps & { respond: Respond<unknown> }, context: GuardedContext) {
  if (!this.hasQuery) {
    const admission = context.admit?.(context)
    if (admission) await admission
    requireNoParameters(context.request)
  }
  if (this.readBody) context.body = await this.readBody(context)
  const response = await this.respond(context)
  const { share, permit } = context
  permit?.release()
  if (share) setRateLimitHeaders(response.headers, share)
  return response
}

/** A hook for routes with query parameters: Elysia checks the query before it calls the handler. */
export async function admitFirst(context: object): Promise<void> {
  const { admit } = context as GuardedContext
  await admit?.(context as GuardedContext)
}

/** Guards routes that need no token, and adds the client's `address` to their context. */
const openSignInGuard = ({ limits, config: { trustProxy } }: Services) =>
  new Elysia({ name: 'sign-in-guard' }).derive({ as: 'scoped' }, async ({ request, server }) => {
    requireShortUrl(request)
    // Runs before the first await, so that no large body stays in memory.
    requireSmall(request, signInBodyBytes)
    const address = addressOf(request, server, trustProxy)
    const share = await limits.takeSignIn(address)
    requireUniqueParameters(request)
    return { address, share, bodyBytes: signInBodyBytes }
  })

/** Guards routes that need a token: `guarded` calls `admit`, which adds the caller, the share and the permit to the context. */
function openCallerGuard(
  { authenticate, limits, scheduler }: Services,
  name: string,
  budgetOfRequest = budgetOf,
  costOf = writesIn,
) {
  const admit: Admit = (context) => {
    const { request, params } = context
    requireShortUrl(request)
    return whenKnown(authenticate.caller(request), (caller) =>
      whenKnown(limits.budgets?.[budgetOfRequest(request)].take(caller) ?? null, (share) => {
        normalize(request, params)
        return whenKnown(scheduler.acquire(caller.userId, costOf(request)), (permit) => {
          context.caller = caller
          context.share = share
          context.permit = permit
        })
      }),
    )
  }
  const prepare = (context: object) => {
    ;(context as GuardedContext).admit = admit
  }
  return new Elysia({ name }).derive(
    { as: 'scoped' },
    prepare as unknown as () => { caller: Caller; permit: Permit },
  )
}

/** Calls `next` at once if the value is known, because most requests need not wait for a promise. */
const whenKnown = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value)

/**
 * Guards routes that need a sign-in token. The first attempt of a request with an Idempotency-Key may have revoked the
 * token. So for such a request, the route first searches for a stored reply and then checks the claims.
 */
const openSessionGuard = ({ authenticate, limits, scheduler, config }: Services) =>
  new Elysia({ name: 'session-guard' }).derive({ as: 'scoped' }, async ({ request, params, server }) => {
    requireShortUrl(request)
    const claims = await authenticate.session(request)
    const isKeyed = budgetOf(request) === 'writes' && request.headers.has('idempotency-key')
    const isValid = await authenticate.isValid(claims)
    if (!isValid && !isKeyed) throw invalidToken()
    // Revoked tokens draw on a separate rate limit.
    const userId = isValid ? claims.userId : claims.tokenId
    const share = (await limits.budgets?.[budgetOf(request)].take({ userId })) ?? null
    normalize(request, params)
    const permit = await scheduler.acquire(userId, writesIn(request))
    const address = addressOf(request, server, config.trustProxy)
    return { claims, caller: claims.caller, share, permit, address }
  })
