import { Elysia } from 'elysia'
import type { Authenticate } from '../identity/sessions.ts'
import type { Config } from '../config.ts'
import { canonicalId } from '../ids.ts'
import { requireShort, requireSingle } from '../wire/request-url.ts'
import { openBodyBytes, requireSmall } from './json-body.ts'
import { addressOf } from './limits/address.ts'
import { type Share, tell } from './limits/budget.ts'
import type { Kind, Limits } from './limits/limits.ts'
import type { Scheduler } from '../admission/scheduler.ts'
import { writesIn } from '../admission/places.ts'
import type { Turn } from '../admission/turn.ts'
import { bodyReading } from './workarounds.ts'

/** A request as its route is to see it. @throws Refusal 400 */
function tidy(request: Request, params: Record<string, string | undefined>): void {
  requireSingle(request)
  for (const name in params) params[name] = canonicalId(params[name] ?? '')
}

/** To whom limits apply, what is left of them. */
function sayLimits({ response, share }: { response: unknown; share: Share | null }): void {
  if (share && response instanceof Response) tell(response.headers, share)
}

/** The request is answered: the next one of its account may begin. */
function finish({ response, share, turn }: { response: unknown; share: Share | null; turn: Turn }): void {
  turn.end()
  if (share && response instanceof Response) tell(response.headers, share)
}

type Means = ReturnType<typeof meansOf>

const meansOf = (
  authenticate: Authenticate,
  limits: Limits,
  scheduler: Scheduler,
  config: Pick<Config, 'bodyBytes' | 'bodyTimeoutMs' | 'rateLimit' | 'trustProxy'>,
) => ({
  authenticate,
  limits,
  scheduler,
  trustProxy: config.trustProxy,
  reads: bodyReading(config),
  readsLittle: bodyReading({ ...config, bodyBytes: openBodyBytes }),
  told: config.rateLimit ? [sayLimits] : [],
})

export type Guards = ReturnType<typeof openGuards>

/** The ways into the service, each a plugin for routes to use. */
export function openGuards(...given: Parameters<typeof meansOf>) {
  const means = meansOf(...given)
  const guarded = callerGuard(means, 'signed-in-guard', kindOf)
  // Whatever its method, it takes from the budget of reads.
  const reading = callerGuard(means, 'reading-guard', () => 'reads')
  return { signIn: signInGuard(means), guarded, reading, claimed: claimsGuard(means) }
}

const kindOf = ({ method }: Request): Kind => (method === 'GET' || method === 'HEAD' ? 'reads' : 'writes')

/** For who is about to sign in: gives routes the `address`. */
const signInGuard = ({ limits, readsLittle, told, trustProxy }: Means) =>
  new Elysia({ name: 'sign-in-guard' })
    .use(readsLittle)
    .derive({ as: 'scoped' }, async ({ request, server }) => {
      requireShort(request)
      requireSmall(request, openBodyBytes) // before anything is awaited, for the body would be kept meanwhile
      const address = addressOf(request, server, trustProxy)
      const share = await limits.enter(address)
      requireSingle(request)
      return { address, share }
    })
    .onAfterHandle({ as: 'scoped' }, told)

/** For signed-in callers: refuses others with 401 and gives routes the `caller`. */
const callerGuard = (
  { authenticate, limits, scheduler, reads }: Means,
  name: string,
  kindOf: (request: Request) => Kind,
) =>
  new Elysia({ name })
    .use(reads)
    .derive({ as: 'scoped' }, async ({ request, params }) => {
      requireShort(request)
      const found = authenticate.caller(request)
      const caller = found instanceof Promise ? await found : found
      const taken = limits.use(caller, kindOf(request))
      const share = taken instanceof Promise ? await taken : taken
      tidy(request, params)
      const turn = scheduler.enter(caller.userId, writesIn(request))
      return { caller, share, turn: turn instanceof Promise ? await turn : turn }
    })
    .onAfterHandle({ as: 'scoped' }, finish)

/**
 * For who has signed in: refuses API tokens with 403. For writes that end tokens: a repeat under an Idempotency-Key may
 * come with a token that the first attempt ended. Gives routes what the token claims; they ask whether it holds before
 * they do anything new.
 */
const claimsGuard = ({ authenticate, limits, scheduler, reads, trustProxy }: Means) =>
  new Elysia({ name: 'claimed-guard' })
    .use(reads)
    .derive({ as: 'scoped' }, async ({ request, params, server }) => {
      requireShort(request)
      const claims = await authenticate.session(request)
      const isKeyed = request.headers.has('idempotency-key')
      const isHeld = isKeyed ? await authenticate.holdsInTime(claims) : true
      if (!isKeyed) await authenticate.require(claims)
      // Who was signed out takes nothing from who is signed in.
      const holder = isHeld ? claims.userId : claims.tokenId
      const share = await limits.useOwn(holder, kindOf(request))
      tidy(request, params)
      const turn = await scheduler.enter(holder, writesIn(request))
      return { claims, caller: claims.caller, share, turn, address: addressOf(request, server, trustProxy) }
    })
    .onAfterHandle({ as: 'scoped' }, finish)
