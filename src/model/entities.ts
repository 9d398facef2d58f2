/** The entities of projects. Each module adds its own: `row`, as events hold it, and `event`, the verbs of its event types. */
export interface Entities {}

export type Entity = keyof Entities
export type Rows = { [E in Entity]: Entities[E]['row'] }
/** Rows with the columns that no event holds. */
export type StoredRows = { [E in Entity]: Entities[E] extends { stored: infer Stored } ? Stored : Rows[E] }

/** The names of all event types, `entity.verb`. */
export type EventType<E extends Entity = Entity> = { [N in E]: `${N}.${Entities[N]['event']}` }[E]

/** The entities that belong to a task, and move with it. */
export type ChildOfTask = { [E in Entity]: Rows[E] extends { taskId: string } ? E : never }[Entity]
