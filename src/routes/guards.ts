import { writesIn } from '../admission/fair-queue.ts'
import type { RouteRequest } from '../commands/command.ts'
import { canonicalId } from '../id-format.ts'
import {
  duplicateParameter,
  invalidToken,
  urlTooLong,
  unknownParameter,
  maxUrlCharacters,
} from '../responses/errors.ts'
import { type AddressBook, addressOf } from '../proxies.ts'
import type { Services } from '../services.ts'
import { whenKnown } from '../waits.ts'
import { type ReadBody, signInBodyBytes, requireSmall } from '../http/json-body.ts'
import { type Share, setRateLimitHeaders, type BudgetName } from '../http/limits.ts'

/** `server` is null until the service listens. */
export type RouteServices = Services & { server(): Server | null }

type Server = AddressBook & { timeout(request: Request, seconds: number): void }

/** The tokens that a route accepts: none is needed, only that of a sign-in, or every token. */
export type Callers = 'anyone' | 'signedIn' | undefined

/**
 * Returns a function that returns the guard of a route.
 * @param budget counts every request of the route, whatever its method
 * @param costOf the cost of reading the body, in writes
 */
export function openGuards(services: RouteServices) {
  return (callers: Callers, budget: BudgetName, costOf = writesIn): Admit => {
    if (callers === 'anyone') return openSignInGuard(services)
    return callers ? openSessionGuard(services, budget) : openCallerGuard(services, budget, costOf)
  }
}

/**
 * The maximum length of `q` is 1,000 characters. A longer `q` gets the 400 of this limit, not the error for a long URL.
 */
const SEARCH = /^[^?]*\/api\/v1\/(search|tasks(\/counts)?)\?(.*&)?q=/

export function requireShortUrl({ url }: Request): void {
  if (url.length > maxUrlCharacters && !SEARCH.test(url)) throw urlTooLong()
}

const noParameters = {}

/** @throws HttpError 400 for a parameter that is given twice, or that the route does not know */
function readQuery({ url }: Request, check?: (query: object) => void): Record<string, string> {
  const start = url.indexOf('?')
  if (start < 0 && !check) return noParameters
  const query: Record<string, string> = Object.create(null)
  for (const [name, value] of start < 0 ? [] : new URLSearchParams(url.slice(start))) {
    if (name in query) throw duplicateParameter(name)
    query[name] = value
  }
  if (check) check(query)
  else for (const name in query) throw unknownParameter(name)
  return query
}

export type GuardedContext = RouteRequest & { share?: Share | null }

/**
 * Checks the caller of a request, and adds the caller, the share, the permit and the address to the context. Returns a promise
 * only if a step must wait. @throws HttpError
 */
type Admit = (context: GuardedContext) => void | Promise<void>

/** The steps of a request, in their order. */
interface Steps {
  precheck?: ((request: Request) => void) | undefined
  admit: Admit
  checkQuery?: (query: object) => void
  readBody?: ReadBody
  respond(context: unknown): Response | Promise<Response>
}

/**
 * Returns the handler of a route. Elysia prepares every part of the request that a handler's source text names. The text
 * of a bound function names none.
 */
export const guarded = (steps: Steps) => handle.bind(steps) as unknown as Steps['respond']

async function handle(this: Steps, context: GuardedContext) {
  const { request, params } = context
  requireShortUrl(request)
  this.precheck?.(request)
  const admission = this.admit(context)
  if (admission) await admission
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
  context.query = readQuery(request, this.checkQuery)
  if (this.readBody) context.body = await this.readBody(context)
  const response = await this.respond(context)
  const { share, permit } = context
  permit?.release()
  if (share) setRateLimitHeaders(response.headers, share)
  return response
}

const openSignInGuard = ({ limits, server, config: { trustProxy } }: RouteServices): Admit => {
  return async (context) => {
    const { request } = context
    // Runs before the first await, so that no large body stays in memory.
    requireSmall(request, signInBodyBytes)
    const address = addressOf(request, server(), trustProxy)
    const share = await limits.takeSignIn(address)
    Object.assign(context, { address, share, bodyBytes: signInBodyBytes })
  }
}

const openCallerGuard = (
  { authenticate, limits, scheduler }: RouteServices,
  budget: BudgetName,
  costOf: (request: Request) => number,
): Admit => {
  return (context) => {
    const { request } = context
    return whenKnown(authenticate.caller(request), (caller) =>
      whenKnown(limits.budgets?.[budget].take(caller) ?? null, (share) =>
        whenKnown(scheduler.acquire(caller.userId, costOf(request)), (permit) => {
          context.caller = caller
          context.share = share
          context.permit = permit
        }),
      ),
    )
  }
}

/**
 * The first attempt of a request with an Idempotency-Key may have revoked the token. So for such a request, the route first
 * searches for a stored reply and then checks the claims.
 */
const openSessionGuard = (
  { authenticate, limits, scheduler, server, config }: RouteServices,
  budget: BudgetName,
): Admit => {
  return async (context) => {
    const { request } = context
    const claims = await authenticate.session(request)
    const isKeyed = budget === 'writes' && request.headers.has('idempotency-key')
    const isValid = await authenticate.isValid(claims)
    if (!isValid && !isKeyed) throw invalidToken()
    // Revoked tokens draw on a separate rate limit.
    const userId = isValid ? claims.userId : claims.tokenId
    const share = (await limits.budgets?.[budget].take({ userId })) ?? null
    const permit = await scheduler.acquire(userId, writesIn(request))
    const address = addressOf(request, server(), config.trustProxy)
    Object.assign(context, { claims, caller: claims.caller, share, permit, address })
  }
}
