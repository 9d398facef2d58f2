import type {
  AccountCommand,
  AccountWrite,
  Command,
  WriteDefinition,
  RouteRequest,
} from '../commands/command.ts'
import { readIfClaim } from '../model/claims.ts'
import { replyOf, requireAuthorized } from '../commands/execute.ts'
import type { ReadRequest } from '../commands/query.ts'
import type { Run } from '../commands/router.ts'
import type { IdempotencyKey } from '../commit/idempotency.ts'
import { type Caller, tokenOrUserId } from '../identity/rights.ts'
import type { Encryption, Fingerprints } from '../identity/secrets.ts'
import type { Authenticate } from '../identity/sessions.ts'
import type { Claims, Tokens } from '../identity/tokens.ts'
import type { FindRole } from '../reads/lookups.ts'
import { conflict } from '../responses/errors.ts'
import { type Reply, respondToWrite } from '../responses/reply.ts'
import { readIdempotencyKey, type WithIdempotency } from './idempotency.ts'
import type { Limits } from './limits.ts'

export interface SecretDependencies {
  authenticate: Authenticate
  findRole: FindRole
  fingerprints: Fingerprints
  limits: Limits
  run: Run
  encryption: Encryption
  tokens: Tokens
  withIdempotency: WithIdempotency
}

export interface RouteHooks<Input> {
  /** Returns the fields of the input that the service generates. @throws HttpError for checks that need I/O */
  prepare?(input: Input, context: RouteRequest): Promise<Partial<Input> | void>
  /** Runs the write, perhaps several times, and returns the reply to send. Not called if a reply is stored. */
  repeat?(context: ReadRequest, write: (caller: Caller) => Promise<Reply>): Promise<Reply>
  /** Runs after each response, also after the response to a retry. */
  after?(input: Input): void
}

type Content = { id?: string; claims?: Claims; sealed?: Record<string, string> }

type Write = Omit<AccountWrite<never>, 'execute'> & { execute(key?: IdempotencyKey): Promise<Reply> }

/** Runs a command on the caller's account. It may revoke tokens, so the next request checks its token again. */
export async function writeAccount<Request extends RouteRequest, Input extends object, Row>(
  dependencies: SecretDependencies,
  command: AccountCommand<Request, Input, Row>,
  context: Request,
  input: Input,
): Promise<Response> {
  const write = command.begin(context, input)
  const execute = async (key?: IdempotencyKey) => {
    const toRecord = (row?: Row) => key && { ...key, ...replyOf(command, row) }
    const row = await write.execute(toRecord).finally(() => {
      if (context.claims) dependencies.authenticate.invalidate(context.claims.userId)
    })
    return replyOf(command, row)
  }
  return respondOnce(dependencies, command, context, input, { ...write, execute })
}

export async function writeSecretly<Input extends object, Row>(
  dependencies: SecretDependencies,
  command: Command<Input, Row>,
  context: RouteRequest<'caller'>,
  input: Input,
  { prepare, after }: RouteHooks<Input>,
): Promise<Response> {
  const { caller, request } = context
  const ifMatch = request.headers.get('if-match') ?? undefined
  const ifClaim = readIfClaim(request)
  let prepared: Partial<Input> | void
  const response = await respondOnce(dependencies, command, context, input, {
    admit: async () => void (prepared = await prepare?.(input, context)),
    execute: (guard) =>
      dependencies.run({
        ...{ name: command.name, input: { ...input, ...prepared } },
        ...{ caller, ifMatch, ifClaim, guard },
      }),
  })
  after?.(input)
  return response
}

/**
 * Stores only a fingerprint of the request under an Idempotency-Key. Rights are checked for a retry too, because the
 * stored reply may contain a secret.
 */
async function respondOnce<Input extends object>(
  dependencies: SecretDependencies,
  command: WriteDefinition<Input>,
  context: RouteRequest,
  input: Input,
  write: Write,
): Promise<Response> {
  const { authenticate, fingerprints, findRole, limits, withIdempotency } = dependencies
  const { address, body = null, caller, claims, params, request } = context
  const { scope = tokenOrUserId(caller!), account = scope, fingerprinted: content = body } = write
  if (claims && !command.endsTokens) await authenticate.require(claims)
  const definition = command as WriteDefinition
  if (caller && definition.role !== null)
    await requireAuthorized(findRole, definition, { projectId: params.id ?? '', caller, input })
  const attempt = { address: address ?? scope, email: account, accountId: claims?.userId }
  const guess = (isRight: () => Promise<boolean>) =>
    address ? limits.checkPassword(attempt, isRight) : isRight()
  const source = { address: attempt.address, guess }
  const key = readIdempotencyKey(request, scope, content)
  const execute = async () => {
    if (claims) await authenticate.require(claims)
    await write.admit?.()
    if (!key) return write.execute()
    return write.execute({
      ...key,
      fingerprint: await fingerprints.of(key.fingerprint, content, attempt.address),
    })
  }
  const isSame = (digest: string, stored: string) => fingerprints.isSame(digest, stored, source)
  const reply = await (key ? withIdempotency(key, execute, isSame) : execute())
  const complete = await withSecrets(dependencies, reply.content ?? JSON.parse(reply.body))
  const response = respondToWrite({ ...reply, body: complete }, command, input)
  response.headers.set('cache-control', 'no-store')
  return response
}

/**
 * Returns the body with its secrets: signs the claims (the token of a stored reply is the same), and decrypts the other
 * secrets.
 */
async function withSecrets({ tokens, encryption }: SecretDependencies, content: Content): Promise<string> {
  const { claims, sealed = {}, id, ...rest } = content
  const token = claims && { access_token: await tokens.sign(claims) }
  const texts = Object.entries(sealed).map(([name, box]) => [name, encryption.decrypt(box)])
  if (texts.some(([, text]) => text === null)) throw unreadable()
  return JSON.stringify({ ...token, id, ...Object.fromEntries(texts), ...rest })
}

const unreadable = () => conflict('The reply stored under this Idempotency-Key can no longer be decrypted')
