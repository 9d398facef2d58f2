import type { AccountCommand, AccountWrite, Command, WriteDefinition } from '../commands/command.ts'
import { needsRole } from '../commands/decide.ts'
import { requireAuthorized } from '../commands/execute.ts'
import { replyOf } from '../commands/execution.ts'
import type { Run } from '../commands/router.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import { type Caller, holderOf } from '../identity/rights.ts'
import type { Fingerprints } from '../identity/fingerprints.ts'
import type { Encryption } from '../identity/encryption.ts'
import type { Authenticate } from '../identity/sessions.ts'
import type { Claims, Tokens } from '../identity/tokens.ts'
import type { Session } from '../identity/validity.ts'
import type { FindRole } from '../reads/lookups.ts'
import { conflict } from '../responses/errors.ts'
import { type Reply, respondToWrite } from '../responses/reply.ts'
import { readIdempotencyKey, type WithIdempotency } from './idempotency.ts'
import type { Limits } from './limits/limits.ts'

export interface SecretDependencies {
  authenticate: Authenticate
  findRole: FindRole
  fingerprints: Fingerprints
  limits: Limits
  run: Run
  sealing: Encryption
  tokens: Tokens
  withIdempotency: WithIdempotency
}

/** What a route knows of a request. The guard decides whether there is a caller, and whether the caller signed in. */
export interface RouteContext {
  request: Request
  params: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  caller?: Caller
  claims?: Session
  address?: string
}

/** What a route does around a command of a project. */
export interface RouteHooks<Input> {
  /** The fields of the input that the service makes. @throws HttpError for what no rule can decide */
  prepare?(input: Input, asked: RouteContext): Promise<Partial<Input> | void>
  /** After the response, also after that to a retry. */
  after?(input: Input): void
}

/** The stored secrets of a reply, for a retry: nobody can read them out of the database. */
interface StoredSecrets {
  /** The claims of a sign-in token, from which the same token is made again. */
  claims?: Claims
  /** Sealed texts by their names in the reply. */
  sealed?: Record<string, string>
}

type Write = Omit<AccountWrite<never>, 'execute'> & { execute(guard?: IdempotencyKey): Promise<Reply> }

/** Writes by a command that a statement executes. The caller's tokens are checked again after it. */
export async function writeAccount<Needed, Input extends object, Row>(
  means: SecretDependencies,
  command: AccountCommand<Needed, Input, Row>,
  asked: RouteContext & Needed,
  input: Input,
): Promise<Response> {
  const write = command.begin(asked, input)
  const execute = async (guard?: IdempotencyKey) => {
    try {
      const row = await write.execute((row) => guard && { ...guard, ...replyOf(command, row) })
      return replyOf(command, row)
    } finally {
      if (asked.claims) means.authenticate.invalidate(asked.claims.userId)
    }
  }
  return answer(means, command, asked, input, { ...write, execute })
}

export async function writeSecretly<Input extends object, Row>(
  means: SecretDependencies,
  command: Command<Input, Row>,
  asked: RouteContext & { caller: Caller },
  input: Input,
  { prepare, after }: RouteHooks<Input>,
): Promise<Response> {
  const { caller, request } = asked
  const ifMatch = request.headers.get('if-match') ?? undefined
  const { name } = command
  let prepared: Partial<Input> | void
  const response = await answer(means, command, asked, input, {
    admit: async () => void (prepared = await prepare?.(input, asked)),
    execute: (guard) => means.run({ name, input: { ...input, ...prepared }, caller, ifMatch, guard }),
  })
  after?.(input)
  return response
}

/**
 * Answers a write with a secret in the body or the reply. Of the request only a fingerprint is stored. A caller who lost
 * the right to the write gets no reply, not even as a retry: it may hold a secret.
 */
async function answer<Input extends object>(
  means: SecretDependencies,
  command: WriteDefinition<Input>,
  asked: RouteContext,
  input: Input,
  write: Write,
): Promise<Response> {
  const { authenticate, fingerprints, findRole, withIdempotency } = means
  const { body = null, caller, claims, params, request } = asked
  const { fingerprinted = body } = write
  if (claims && !command.endsTokens) await authenticate.require(claims)
  if (caller && needsRole(command as WriteDefinition))
    await requireAuthorized(findRole, command as WriteDefinition, {
      projectId: params.id ?? '',
      caller,
      input,
    })
  const by = holderIn(means, asked, write)
  const guard = readIdempotencyKey(request, by.scope, fingerprinted)
  const work = async () => {
    if (claims) await authenticate.require(claims)
    await write.admit?.()
    if (!guard) return write.execute()
    return write.execute({
      ...guard,
      fingerprint: await fingerprints.of(guard.fingerprint, fingerprinted, by),
    })
  }
  const isSame = (digest: string, stored: string) => fingerprints.isSame(digest, stored, by)
  const reply = await (guard ? withIdempotency(guard, work, isSame) : work())
  const { location } = command
  const complete = await withSecrets(means, JSON.parse(reply.body))
  const response = respondToWrite({ ...reply, body: complete }, location && ((id) => location(id, input)))
  response.headers.set('cache-control', 'no-store')
  return response
}

/** The holder of an Idempotency-Key, whose turn and limits the check of a password uses. */
function holderIn({ limits }: SecretDependencies, { address, caller, claims }: RouteContext, write: Write) {
  const scope = write.scope ?? claims?.userId ?? holderOf(caller!)
  const { account = scope } = write
  const who = { address: address ?? scope, email: account, accountId: claims?.userId }
  const guess = (isRight: () => Promise<boolean>) =>
    address ? limits.checkPassword(who, isRight) : isRight()
  return { scope, account, address: who.address, guess }
}

async function withSecrets(
  { tokens, sealing }: SecretDependencies,
  { claims, sealed = {}, id, ...rest }: StoredSecrets & { id?: string },
): Promise<string> {
  const token = claims && { access_token: await tokens.sign(claims) }
  const opened = Object.entries(sealed).map(([name, box]) => [name, sealing.decrypt(box)])
  if (opened.some(([, text]) => text === null)) throw unreadable()
  return JSON.stringify({ ...token, id, ...Object.fromEntries(opened), ...rest })
}

const unreadable = () => conflict('What was answered under this Idempotency-Key cannot be read any more')
