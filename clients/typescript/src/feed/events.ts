import type { components } from '../api.ts'
import type { EventType, Field, Label, Task } from '../schemas.ts'

type Schemas = components['schemas']

type Pascal<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Capitalize<First>}${Pascal<Rest>}`
  : Capitalize<Name>
/** The fields of a row in an event, by the entity of the row. */
type RowOf<Entity extends string> = Schemas[`${Pascal<Entity>}Fields` & keyof Schemas]

type EventOf<Type extends EventType> = Type extends `${infer Entity}.${string}`
  ? Omit<Schemas['Event'], 'type' | 'entity' | 'before' | 'after'> & {
      type: Type
      entity: Entity
      before: RowOf<Entity> | null
      after: RowOf<Entity> | null
    }
  : never

/** An event of a project. `type` determines the types of `entity`, `before` and `after`. */
export type FeedEvent = { [Type in EventType]: EventOf<Type> }[EventType]

/** The tasks, labels and fields of a project at the version `seq`. */
export interface Snapshot {
  type: 'snapshot'
  seq: number
  tasks: Task[]
  labels: Label[]
  fields: Field[]
}
