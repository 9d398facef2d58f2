import type { Static, TObject } from '@sinclair/typebox'
import type { Kept } from '../commit/idempotency.ts'
import type { Context, Decision } from '../log/rule.ts'
import type { Needs } from '../actor/needs.ts'
import type { ProjectState } from '../actor/state.ts'
import { type Asking, type Caller, type Role, type Scope, scopeOfWrite } from '../identity/rights.ts'
import type { Session } from '../identity/validity.ts'
import type { Entity } from '../model/entities.ts'
import type { Refusal } from '../wire/refusals.ts'
import type { Found, Sought } from './request.ts'
import type { Person, Whom } from '../reads/people.ts'
import type { View } from '../model/view.ts'

/** Where a command runs: in a new project, or in the one that a field of its input names, or holds just now. */
export type At = { kind: 'new' } | { kind: Entity; key: string }

export const inNewProject: At = { kind: 'new' }
export const inProject = (key = 'projectId'): At => ({ kind: 'project', key })
export const ofTask = (key = 'id'): At => ({ kind: 'task', key })
export const atRow = (kind: Entity): At => ({ kind, key: 'id' })
export const ofAccount = { kind: 'account' } as const

/** What a rule may know beside the state. */
export interface Known extends Context {
  person?: Person
  found?: Found
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
  at: At | typeof ofAccount
  /** The role it takes, held before the rule is asked; `nobody` is for the service's own work. */
  least: Role | 'nobody'
  /** The scope that an API token needs for it: that of the role, unless told. */
  scope: Scope
  callers?: 'signedIn' | 'anyone'
  /** The body or the answer holds a secret: see secret-writes.ts. */
  isSecret?: boolean
  /** Its tokens may have ended when its answer is sent again. */
  endsTokens?: boolean
  /** The project that a thing moves to, if the input says so. */
  into?(input: Input): string | undefined
  /** Holds the input to what its schema does not say, and completes it. @throws Refusal 400 */
  reads?(input: Input): object
  /** Rights that the input takes beside role and scope, checked with them. @throws Refusal 403 */
  authorize?(asking: Asking, input: Input): void
  /** The answer: the view of a row, or a message. */
  shows?: View<Row>
  says?: string
  status: 200 | 201 | 202 | 204
  /** The document's words for the answer, and `add` for a write that takes no If-Match, unless the status gives them. */
  done?: string
  does?: 'add'
  madeAt?(id: string, input: Input): string
  /** What its rule refuses beside what every command may: for the document. */
  refuses?: Refusal[]
}

/**
 * A write as data: a name, plain input, where it runs, and the pure rule that decides it. The same definition serves a
 * route, the document, the workers, and whatever else runs commands by name.
 */
export interface Command<Input extends object = object, Row = unknown> extends Declared<Input, Row> {
  at: At
  /** What has to be looked up before it is known what to load. */
  seeks?(input: Input, caller: Caller): Sought
  /** Rows to load beside the one it runs at. */
  needs?(input: Input, found?: Found): Needs
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
  keepsAnswer?: boolean
  /** The entity that it is about, or what else its name begins with. */
  noun: string
  /** Whose account the rule or the answer asks for. */
  whom?(input: Input, caller: Caller): Whom
  /** Throws a Refusal to change nothing. `other` is the state that the thing moves to: this one, if it stays. */
  decide(state: ProjectState, known: Known, input: Input, other: ProjectState): Decision<Row>
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
  scope: scopeOfWrite(definition.least),
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
export type Keep<Row> = (row?: Row) => Kept | undefined

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
  execute(keep: Keep<Row>): Promise<Row>
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
  at: ofAccount,
  least: 'nobody',
  scope: 'write',
  status: 200,
  callers: 'signedIn',
  isSecret: true,
} as const

export const accountCommand = <Asked, S extends TObject, Row>(
  name: string,
  definition: AccountDefinition<Asked, S, Row>,
): AccountCommand<Asked, Static<S>, Row> => ({ name, ...defaults, ...definition })
