import { slotsForWrites } from '../admission/fair-queue.ts'
import type {
  AccountCommand,
  AccountWrite,
  Command,
  RouteRequest,
  WriteDefinition,
} from '../commands/command.ts'
import { replyOf, requireAuthorized } from '../commands/execute.ts'
import type { ReadRequest } from '../commands/query.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import { type Caller, tokenOrUserId } from '../identity/rights.ts'
import type { Claims } from '../identity/tokens.ts'
import { readIfClaim } from '../model/claims.ts'
import { conflict } from '../responses/errors.ts'
import { type Reply, respondToWrite } from '../responses/reply.ts'
import type { Services } from '../services.ts'
import { readIdempotencyKey } from '../http/idempotency.ts'

export interface RouteHooks {
  /** Returns the fields of the input that the service generates. @throws HttpError for checks that need I/O */
  prepare?(input: object, context: RouteRequest): Promise<object | void>
  /** Runs the write, perhaps several times, and returns the reply to send. Not called if a reply is stored. */
  repeat?(context: ReadRequest, write: (caller: Caller) => Promise<Reply>): Promise<Reply>
  /** Runs after each response, also after the response to a retry. */
  after?(input: object): void
}

export function openRunCommand<Input extends object, Row>(
  services: Services,
  command: Command<Input, Row>,
  repeat: RouteHooks['repeat'],
) {
  const { expensive, limits, run, scheduler, withIdempotency, subscriptions } = services
  const { name, invites, weight, cost = weight, isExpensive, location, view } = command
  const headers = { location, hasVersion: view?.hasNoEtag }

  async function execute(context: ReadRequest, input: Input): Promise<Response> {
    const { request, caller, body = null } = context
    const isKeyed = request.headers.has('idempotency-key')
    const key = isKeyed ? readIdempotencyKey(request, tokenOrUserId(caller), body) : undefined
    const ifMatch = request.headers.get('if-match') ?? undefined
    const ifClaim = request.headers.has('docket-if-claim') ? readIfClaim(request) : undefined
    const writeAs = (caller: Caller) => run({ name, input, caller, ifMatch, ifClaim, guard: key })
    const write = () => (repeat ? repeat(context, writeAs) : writeAs(caller))
    const reply = await (key ? withIdempotency(key, write) : write())
    const response = respondToWrite(reply, headers, input)
    // The process stops: the client must send its next request on another connection.
    if (repeat && subscriptions.hasEnded()) response.headers.set('connection', 'close')
    return response
  }

  return (context: ReadRequest, input: Input): Promise<Response> => {
    const { caller, permit } = context
    const writes = cost?.(input) ?? 1
    const invitations = invites?.(input) ?? 0
    const isSlow = isExpensive?.(input)
    if (writes === 1 && invitations === 0 && !isSlow) return execute(context, input)
    const charge = async () => {
      if (invitations > 0) await limits.takeInvitations(caller.userId, invitations)
      if (writes > 1) await limits.budgets?.writes.takeMore(caller, writes - 1)
      if (!isSlow && slotsForWrites(writes) > permit.slots) {
        permit.release()
        context.permit = await scheduler.acquire(caller.userId, writes)
      }
      return execute(context, input)
    }
    return isSlow ? expensive.run(caller.userId, charge) : charge()
  }
}

type Content = { id?: string; claims?: Claims; sealed?: Record<string, string> }

type Write = Omit<AccountWrite<never>, 'execute'> & { execute(key?: IdempotencyKey): Promise<Reply> }

/**
 * Runs a command on the caller's account. It may revoke tokens, so the next request checks its token again, also after a
 * stored reply: another process may have revoked the token.
 */
export async function writeAccount<Request extends RouteRequest, Input extends object, Row>(
  services: Services,
  command: AccountCommand<Request, Input, Row>,
  context: Request,
  input: Input,
): Promise<Response> {
  const write = command.begin(context, input)
  const execute = async (key?: IdempotencyKey) => {
    const toRecord = (row?: Row) => key && { ...key, ...replyOf(command, row) }
    return replyOf(command, await write.execute(toRecord))
  }
  return respondOnce(services, command, context, input, { ...write, execute }).finally(() => {
    if (context.claims) services.authenticate.invalidate(context.claims.userId)
  })
}

export async function writeSecretly<Input extends object, Row>(
  services: Services,
  command: Command<Input, Row>,
  context: RouteRequest<'caller'>,
  input: Input,
  { prepare, after }: RouteHooks,
): Promise<Response> {
  const { caller, request } = context
  const ifMatch = request.headers.get('if-match') ?? undefined
  const ifClaim = readIfClaim(request)
  const execute = async (guard?: IdempotencyKey) => {
    const complete = { ...input, ...(await prepare?.(input, context)) }
    return services.run({ name: command.name, input: complete, caller, ifMatch, ifClaim, guard })
  }
  const response = await respondOnce(services, command, context, input, { execute })
  after?.(input)
  return response
}

/**
 * Stores only a fingerprint of the request under an Idempotency-Key. Rights are checked for a retry too, because the
 * stored reply may contain a secret.
 */
async function respondOnce<Input extends object>(
  services: Services,
  command: WriteDefinition<Input>,
  context: RouteRequest,
  input: Input,
  write: Write,
): Promise<Response> {
  const { authenticate, fingerprints, findRole, limits, withIdempotency } = services
  const { address, body = null, caller, claims, params, request } = context
  const { scope = tokenOrUserId(caller!), account = scope, fingerprinted: content = body } = write
  if (claims && !command.endsTokens) await authenticate.require(claims)
  const definition = command as WriteDefinition
  if (caller && definition.role !== null)
    await requireAuthorized(findRole, definition, { projectId: params.id ?? '', caller, input })
  const attempt = { address: address ?? scope, email: account, accountId: claims?.userId }
  const guess = (isRight: () => Promise<boolean>) =>
    address ? limits.checkPassword(attempt, isRight) : isRight()
  const key = readIdempotencyKey(request, scope, content)
  const execute = async () => {
    if (claims) await authenticate.require(claims)
    await write.admit?.()
    if (!key) return write.execute()
    const fingerprint = await fingerprints.of(key.fingerprint, content, attempt.address)
    return write.execute({ ...key, fingerprint })
  }
  const isSame = (digest: string, stored: string) =>
    fingerprints.isSame(digest, stored, attempt.address, guess)
  const reply = await (key ? withIdempotency(key, execute, isSame) : execute())
  const complete = await withSecrets(services, reply.content ?? JSON.parse(reply.body))
  const response = respondToWrite({ ...reply, body: complete }, command, input)
  response.headers.set('cache-control', 'no-store')
  return response
}

/**
 * Returns the body with its secrets: signs the claims (the token of a stored reply is the same), and decrypts the other
 * secrets.
 */
async function withSecrets({ tokens, encryption }: Services, content: Content): Promise<string> {
  const { claims, sealed = {}, id, ...rest } = content
  const token = claims && { access_token: await tokens.sign(claims) }
  const texts = Object.entries(sealed).map(([name, box]) => [name, encryption.decrypt(box)])
  if (texts.some(([, text]) => text === null)) throw unreadable()
  return JSON.stringify({ ...token, id, ...Object.fromEntries(texts), ...rest })
}

const unreadable = () => conflict('The reply stored under this Idempotency-Key can no longer be decrypted')
