import { timestamp, uuid } from 'drizzle-orm/pg-core'

// No table has foreign keys: the actor of the project decides what may exist, the version of its stream guards the commit,
// and cascades are jobs. A foreign key would lock and check each row once more.

// Each list has an index of its own. The columns after the id only steer the planner: a list that is ordered by them too can
// be read from this index alone.

export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** The last event of the row: its strong ETag, unique also after a move to another project. */
export const eventId = uuid('event_id').notNull()
