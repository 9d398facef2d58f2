import { timestamp, uuid } from 'drizzle-orm/pg-core'

// No table has foreign keys, because a foreign key locks and checks each row again. The actor of the project checks
// references, the compare-and-swap of the project's version protects the commit, and jobs do cascades.

// Each list has its own index. The columns after the id only steer the planner: queries order by them too, so that
// Postgres chooses this index.

export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** The id of the row's last event is also its strong ETag: unique even after a move to another project. */
export const eventId = uuid('event_id').notNull()
