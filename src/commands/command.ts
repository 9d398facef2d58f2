import type { Static, TObject } from '@sinclair/typebox'
import type { IdempotencyRecord } from '../commit/idempotency.ts'
import type { Context, Decision } from '../log/rule.ts'
import type { Preload } from '../actor/preload.ts'
import type { ProjectState } from '../actor/state.ts'
import { type Asking, type Caller, type Role, type Scope, scopeOfWrite } from '../identity/rights.ts'
import type { Session } from '../identity/validity.ts'
import type { Entity } from '../model/entities.ts'
import type { HttpError } from '../responses/errors.ts'
import type { LookupResults, Lookups } from './request.ts'
import type { Person, Whom } from '../reads/people.ts'
import type { View } from '../model/view.ts'

/** Where a command runs: in a new project, or in the one that a field of its input names, or holds just now. */
export type Target = { kind: 'new' } | { kind: Entity; key: string }

export const inNewProject: Target = { kind: 'new' }
export const inProject = (key = 'projectId'): Target => ({ kind: 'project', key })
export const ofTask = (key = 'id'): Target => ({ kind: 'task', key })
export const atRow = (kind: Entity): Target => ({ kind, key: 'id' })
export const ofAccount = { kind: 'account' } as const

/** What a rule may know beside the state. */
export interface RuleContext extends Context {
  person?: Person
  found?: LookupResults
  limits: { projectMembers: number; projectWebhooks: number }
}

/** A write as routes and the document see it, wherever it is executed. */
export interface Declared<Input extends object = object, Row = unknown> {
  /** `noun.verb` */
  name: string
  about?: string
  /** The operation's id and tag in the document, where the name does not give them. */
  called?: { id: string; tag: string }
  /** Path, body and query together. */
  input: TObject
  /** The request's body, where it is not just the fields of the input. */
  body?: TObject
  /** The fields of the input that a URL's query gives. */
  inQuery?: string[]
  /** The fields of the input that the route's `prepare` makes. */
  prepared?: string[]
  target: Target | typeof ofAccount
  /** The role it takes, held before the rule is asked; `nobody` is for the service's own work. */
  role: Role | 'nobody'
  /** The scope that an API token needs for it: that of the role, unless told. */
  scope: Scope
  callers?: 'signedIn' | 'anyone'
  /** The body or the answer holds a secret: see src/http/secret-writes.ts. */
  isSecret?: boolean
  /** Its tokens may have ended when its answer is sent again. */
  endsTokens?: boolean
  /** The project that a thing moves to, if the input says so. */
  destination?(input: Input): string | undefined
  /** Holds the input to what its schema does not say, and completes it. @throws HttpError 400 */
  complete?(input: Input): object
  /** Rights that the input takes beside role and scope, checked with them. @throws HttpError 403 */
  authorize?(asking: Asking, input: Input): void
  /** The answer: the view of a row, or a message. */
  view?: View<Row>
  message?: string
  status: 200 | 201 | 202 | 204
  /** The document's words for the answer, and `add` for a write that takes no If-Match, unless the status gives them. */
  done?: string
  does?: 'add'
  location?(id: string, input: Input): string
  /** What its rule refuses beside what every command may: for the document. */
  errors?: HttpError[]
}

/**
 * A write as data: a name, plain input, where it runs, and the pure rule that decides it. The same definition serves a
 * route, the document, the workers, and whatever else runs commands by name.
 */
export interface Command<Input extends object = object, Row = unknown> extends Declared<Input, Row> {
  target: Target
  /** What has to be looked up before it is known what to load. */
  lookups?(input: Input, caller: Caller): Lookups
  /** Rows to load beside the one it runs at. */
  preload?(input: Input, found?: LookupResults): Preload
  /** Its input's `id` is that of what it makes, where the client gives one. */
  takesOwnId?: boolean
  /** How many writes it is, where it is more than one: a commit holds so many. */
  weight?(input: Input): number
  /** How many accounts it looks up by their addresses: each is an invitation. */
  invites?(input: Input): number
  /** Its cost in plain writes, where that differs from its weight. */
  cost?(input: Input): number
  /** Whether few of an account may be in progress at once: it takes long however little it writes. */
  isExpensive?(input: Input): boolean
  /** Its answer is kept with its commit: its first event does not say all of it. */
  storesReply?: boolean
  /** The entity that it is about, or what else its name begins with. */
  noun: string
  /** Whose account the rule or the answer asks for. */
  person?(input: Input, caller: Caller): Whom
  /** Throws an HttpError to change nothing. `other` is the state that the thing moves to: this one, if it stays. */
  decide(state: ProjectState, known: RuleContext, input: Input, other: ProjectState): Decision<Row>
}

type Definition<S extends TObject, Row> = Omit<
  Command<Static<S>, Row>,
  'name' | 'noun' | 'input' | 'status' | 'scope'
> & {
  input: S
  status?: Declared['status']
  scope?: Scope
}

export const command = <S extends TObject, Row>(
  name: string,
  definition: Definition<S, Row>,
): Command<Static<S>, Row> => ({
  name,
  noun: name.slice(0, name.indexOf('.')),
  status: 200,
  scope: scopeOfWrite(definition.role),
  ...definition,
})

/** A request of a caller without a token. */
export interface Stranger {
  request: Request
  address: string
}

/** A request of a caller who signed in. */
export interface Signed extends Stranger {
  claims: Session
}

/** A row's answer under the request's Idempotency-Key, for the statement that writes the row; undefined without a key. */
export type ToRecord<Row> = (row?: Row) => IdempotencyRecord | undefined

/** One request to write, which its Idempotency-Key may prove to be a repeat. */
export interface AccountWrite<Row> {
  /** The holder of the Idempotency-Key, and the account that passwords are checked for: the caller, unless told. */
  scope?: string
  account?: string
  /** What a repeat must send again: the body, unless told. */
  said?: unknown
  /** Rejects a request that is no repeat. */
  admit?(): Promise<void>
  /** Writes, in one statement with the record of the Idempotency-Key. */
  execute(keep: ToRecord<Row>): Promise<Row>
}

/** A write outside of projects' logs: a statement executes it, and no actor. */
export interface AccountCommand<
  Asked = Signed,
  Input extends object = object,
  Row = unknown,
> extends Declared<Input, Row> {
  begin(asked: Asked, input: Input): AccountWrite<Row>
}

type AccountDefinition<Asked, S extends TObject, Row> = Omit<
  AccountCommand<Asked, Static<S>, Row>,
  'name' | 'input' | keyof typeof defaults
> & { input: S } & Partial<Pick<Declared, keyof typeof defaults>>

const defaults = {
  target: ofAccount,
  role: 'nobody',
  scope: 'write',
  status: 200,
  callers: 'signedIn',
  isSecret: true,
} as const

export const accountCommand = <Asked, S extends TObject, Row>(
  name: string,
  definition: AccountDefinition<Asked, S, Row>,
): AccountCommand<Asked, Static<S>, Row> => ({ name, ...defaults, ...definition })
