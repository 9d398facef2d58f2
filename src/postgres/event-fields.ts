import type { Sql } from './database.ts'

/** The columns of an event `e` without its rows. */
export const eventFields = (sql: Sql) => sql`
  e.project_id, e.seq::float8 as seq, e.id, e.type, e.entity, e.entity_id, e.task_id,
  e.batch::float8 as batch, e.undoes::float8 as undoes, e.actor_id, e.at`

/** Both rows of an event `e`: the rows of integrations are in `told`. */
export const eventRows = (sql: Sql) => sql`
  coalesce(e.before, e.told -> 'before') as before, coalesce(e.after, e.told -> 'after') as after`
