import type { components } from '../api.ts'
import type { EventType, Field, Label, Task } from '../schemas.ts'

type Schemas = components['schemas']

interface Rows {
  project: Schemas['ProjectFields']
  member: Schemas['MemberFields']
  task: Schemas['TaskFields']
  subtask: Schemas['SubtaskFields']
  comment: Schemas['CommentFields']
  label: Schemas['LabelFields']
  field: Schemas['FieldFields']
  view: Schemas['ViewFields']
  webhook: Schemas['WebhookFields']
  service_account: Schemas['ServiceAccountFields']
  token: Schemas['TokenFields']
}

type EventOf<Type extends EventType> = Type extends `${infer Entity extends keyof Rows}.${string}`
  ? Omit<Schemas['Event'], 'type' | 'entity' | 'before' | 'after'> & {
      type: Type
      entity: Entity
      before: Rows[Entity] | null
      after: Rows[Entity] | null
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
