/** Each module adds its entities: `row` is the type of the row in events, and `event` the verbs of its event types. */
export interface Entities {}

export type Entity = keyof Entities
export type Rows = { [E in Entity]: Entities[E]['row'] }
export type StoredRows = { [E in Entity]: Entities[E] extends { stored: infer Stored } ? Stored : Rows[E] }

export type EventType<E extends Entity = Entity> = { [N in E]: `${N}.${Entities[N]['event']}` }[E]

/** Entities whose rows belong to a task and move with it. */
export type ChildOfTask = { [E in Entity]: Rows[E] extends { taskId: string } ? E : never }[Entity]
