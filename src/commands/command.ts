import type { Static, TObject } from '@sinclair/typebox'
import type { IdempotencyKey, IdempotencyRecord } from '../commit/idempotency.ts'
import type { Decision } from '../model/events.ts'
import type { UndoInput } from '../log/undo-input.ts'
import type { Preload } from '../actor/load.ts'
import type { ProjectState } from '../actor/state.ts'
import { type ProjectCaller, type Caller, type Role, type Scope, scopeOfWrite } from '../identity/rights.ts'
import type { Entity } from '../model/entities.ts'
import type { HttpError } from '../responses/errors.ts'
import type { Condition } from '../responses/if-match.ts'
import type { IfClaim } from '../model/claims.ts'
import type { Permit } from '../admission/fair-queue.ts'
import type { Session } from '../identity/sessions.ts'
import type { Person, AccountKey } from '../reads/people.ts'
import type { View } from '../model/view.ts'

interface SetByGuard {
  caller: Caller
  claims: Session
  address: string
  /** A read releases the permit before it waits for events. */
  permit: Permit
}

/** A request whose route's guard has set at least the fields `Needed`. */
export type RouteRequest<Needed extends keyof SetByGuard = never> = {
  request: Request
  params: Record<string, string>
  query: Record<string, string | undefined>
  body?: unknown
} & Partial<SetByGuard> &
  Pick<SetByGuard, Needed>

export interface CommandRequest {
  name: string
  input: object
  caller: Caller
  ifMatch?: string
  ifClaim?: IfClaim
  guard?: IdempotencyKey
}

export interface Lookups {
  people: (AccountKey | undefined)[]
  clientIds: string[]
}

/** The results in the order of the look-ups; null if nothing was found. */
export interface LookupResults {
  people: (Person | null)[]
  clientIds: string[]
  takenIds: string[]
}

/** A command with its project. Plain data, because it is sent between processes. */
export interface RoutedCommand extends CommandRequest {
  /** The id of the command's first event ends with the same digits, so that the log can be searched for the command. */
  id: string
  /** The digest of the command's input schema and scope: see `formOf`. */
  form: string
  /** The command was sent before, but the connection to its home was lost before the reply. */
  again?: true
  projectId: string
}

/** The project that a command runs in: a new one, or the project of the row whose id is in the input field `key`. */
export type Target = { kind: 'new' } | { kind: Entity; key: string }

export const inNewProject: Target = { kind: 'new' }
export const inProject = (key = 'projectId'): Target => ({ kind: 'project', key })
export const ofTask = (key = 'id'): Target => ({ kind: 'task', key })
export const atRow = (kind: Entity): Target => ({ kind, key: 'id' })
export const ofAccount = { kind: 'account' } as const

/** A rule's input besides the state. It contains the time and new ids, so that rules are pure. */
export interface RuleContext extends Condition {
  caller: Caller
  now: string
  newId(): string
  /** The first id has the same random part as the command's id, so that the command can be found in the log. */
  newEventId(): string
  ifClaim?: IfClaim
  /** True for an import, which changes texts of tasks without `ifMatch`. */
  overwritesTexts?: boolean
  undo?: UndoInput
  claimedIds?: string[]
  person?: Person
  lookupResults?: LookupResults
  limits: { projectMembers: number; projectWebhooks: number }
}

/** Returns the context of an operation in a command. Lists the fields, because a spread would lose the methods of the class. */
export const contextOf = (context: RuleContext, own: Partial<RuleContext>): RuleContext => ({
  caller: context.caller,
  now: context.now,
  newId: () => context.newId(),
  newEventId: () => context.newEventId(),
  undo: context.undo,
  claimedIds: context.claimedIds,
  lookupResults: context.lookupResults,
  limits: context.limits,
  ...own,
})

/** The parts of a write that routes and the OpenAPI document use. */
export interface WriteDefinition<Input extends object = object, Row = unknown> {
  /** `noun.verb` */
  name: string
  about?: string
  operation?: { id: string; tag: string }
  /** The fields of the path, the body and the query together. */
  input: TObject
  /** The schema of the request body. Default: the input fields that are neither in the path nor in the query. */
  body?: TObject
  queryFields?: string[]
  /** Input fields that the route's `prepare` adds. */
  preparedFields?: string[]
  target: Target | typeof ofAccount
  /** The role that the caller needs in the project. Null: the command needs no project, or only workers run it. */
  role: Role | null
  /** The scope that an API token needs. Default: the scope of the role. */
  scope: Scope
  callers?: 'signedIn' | 'anyone'
  /** The body or the reply contains a secret: see src/routes/writes.ts. */
  isSecret?: boolean
  /** The command revokes tokens, so the caller's token may be invalid when the request is retried. */
  endsTokens?: boolean
  destination?(input: Input): string | undefined
  /** Checks what the schema cannot express, and adds derived fields. @throws HttpError 400 */
  complete?(input: Input): object
  /** Checks further rights that depend on the input. Runs after the checks of role and scope. @throws HttpError 403 */
  authorize?(projectCaller: ProjectCaller, input: Input): void
  view?: View<Row>
  message?: string
  status: 200 | 201 | 202 | 204
  /** The command may create its row. Then the status is 201. */
  creates?: boolean
  /** The description of the reply 204, for a command that may have no answer. */
  emptyReply?: string
  does?: 'add'
  location?(id: string, input: Input): string
  errors?: HttpError[]
}

/** A write as data: name, input schema, target and a pure rule. Routes, batches and workers run commands by name. */
export interface Command<Input extends object = object, Row = unknown> extends WriteDefinition<Input, Row> {
  target: Target
  /** Look-ups of several people and ids. Default: one person, and the client's id. */
  lookups?(input: Input, caller: Caller): Lookups
  preload?(input: Input): Preload | undefined
  /** The client may choose the id of the new row: the input field `id`. */
  acceptsClientId?: boolean
  /** The number of writes, for the limit of writes in one commit. Default: 1. */
  weight?(input: Input): number
  invites?(input: Input): number
  /** The number of writes, for rate limits. Default: the weight. */
  cost?(input: Input): number
  /** True for a slow command: an account may have only a few of these in progress. */
  isExpensive?(input: Input): boolean
  /** The commit also stores the reply, because the reply cannot be rebuilt from the first event. */
  storesReply?: boolean
  noun: string
  person?(input: Input, caller: Caller): AccountKey
  /** Pure. `destination` equals `state`, unless the row moves to another project. @throws HttpError to reject */
  decide(state: ProjectState, context: RuleContext, input: Input, destination: ProjectState): Decision<Row>
}

type CommandDefinition<S extends TObject, Row> = Omit<
  Command<Static<S>, Row>,
  'name' | 'noun' | 'input' | 'status' | 'scope'
> & {
  input: S
  status?: WriteDefinition['status']
  scope?: Scope
}

export const command = <S extends TObject, Row>(
  name: string,
  definition: CommandDefinition<S, Row>,
): Command<Static<S>, Row> => ({
  name,
  noun: name.slice(0, name.indexOf('.')),
  status: 200,
  scope: scopeOfWrite(definition.role),
  ...definition,
})

/** Returns the idempotency record to write in the same statement as the row; undefined without an Idempotency-Key. */
export type ToRecord<Row> = (row?: Row) => IdempotencyRecord | undefined

export interface AccountWrite<Row> {
  /** The owner of the Idempotency-Key. Default: the caller. */
  scope?: string
  /** The account whose password is checked. Default: the caller. */
  account?: string
  /** The data that a retry must repeat. Default: the request body. */
  fingerprinted?: unknown
  /** Checks that run only for a request that is not a retry. @throws HttpError */
  admit?(): Promise<void>
  execute(toRecord: ToRecord<Row>): Promise<Row>
}

/** A write that belongs to no project: one SQL statement executes it, without an actor. */
export interface AccountCommand<
  Request extends RouteRequest,
  Input extends object,
  Row,
> extends WriteDefinition<Input, Row> {
  begin(request: Request, input: Input): AccountWrite<Row>
}

type AccountDefinition<Request extends RouteRequest, S extends TObject, Row> = Omit<
  AccountCommand<Request, Static<S>, Row>,
  'name' | 'input' | keyof typeof defaults
> & { input: S } & Partial<Pick<WriteDefinition, keyof typeof defaults>>

const defaults = {
  target: ofAccount,
  role: null,
  scope: 'write',
  status: 200,
  callers: 'signedIn',
  isSecret: true,
} as const

export const accountCommand = <Request extends RouteRequest, S extends TObject, Row>(
  name: string,
  definition: AccountDefinition<Request, S, Row>,
): AccountCommand<Request, Static<S>, Row> => ({ name, ...defaults, ...definition })

export function pathFields(path: string, { target: at }: WriteDefinition<never>): [string, string][] {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  return names.map((name) => [name, name === 'id' && 'key' in at ? at.key : name])
}

export function bodyFields(
  { input, queryFields = [], preparedFields = [] }: WriteDefinition<never>,
  given: [string, string][],
): string[] {
  const otherSources = [...queryFields, ...preparedFields, ...given.map(([, key]) => key)]
  return Object.keys(input.properties).filter((key) => !otherSources.includes(key))
}
