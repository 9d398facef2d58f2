import type { components } from '../api.ts'
import type { Reference } from './reference.ts'

type Operation = NonNullable<components['schemas']['BatchProject']['operations']>[number]
type OperationName = Operation['op']

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name
type EntityIn<Name extends string> = Name extends `${infer Entity}.${string}` ? Entity : never
type VerbsOf<Entity extends string> =
  Extract<OperationName, `${Entity}.${string}`> extends `${string}.${infer Verb}` ? Verb : never

/** The entity whose id each field contains; `id` is the id of the operation's own entity. */
interface FieldEntities {
  taskId: 'task'
  memberId: 'member'
  before: 'task'
  after: 'task'
  blockedByIds: 'task'
  addBlockedByIds: 'task'
  removeBlockedByIds: 'task'
  labelIds: 'label'
  addLabelIds: 'label'
  removeLabelIds: 'label'
  labels: 'label'
  anyLabel: 'label'
}
type EntityOf<Field, Own extends string, Verb extends string> = Field extends keyof FieldEntities
  ? FieldEntities[Field]
  : Field extends 'id'
    ? Verb extends 'create'
      ? never
      : Own
    : never

type OrReference<Value, Entity extends string> = [Entity] extends [never]
  ? Value
  : Value extends string
    ? Value | Reference<Entity>
    : Value extends readonly string[]
      ? readonly (string | Reference<Entity>)[]
      : Value

type Given<Own extends string, Verb extends string> = Omit<
  Extract<Operation, { op: `${Own}.${Verb}` }>,
  'op' | 'as'
>
type InputOf<Own extends string, Verb extends string> = {
  [Field in keyof Given<Own, Verb>]: OrReference<Given<Own, Verb>[Field], EntityOf<Field, Own, Verb>>
}

type Method<Own extends string, Verb extends string> =
  object extends InputOf<Own, Verb>
    ? (input?: InputOf<Own, Verb>) => Reference<Own>
    : (input: InputOf<Own, Verb>) => Reference<Own>

/** `b.task.create({…})` adds the operation `task.create`; `b.task.claimNext` adds `task.claim_next`. */
export type BatchBuilder = {
  [Entity in EntityIn<OperationName> as Camel<Entity>]: {
    [Verb in VerbsOf<Entity> as Camel<Verb>]: Method<Entity, Verb>
  }
}
