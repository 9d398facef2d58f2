import { timestamp, uuid } from 'drizzle-orm/pg-core'

// What the tables have in common.

// There are no foreign keys on purpose: the project's actor decides what may exist, its commit is guarded by
// the stream version, and cascades are jobs. A foreign key would lock and check each row once more.

// Each list has an index of its own. What follows the id in it orders nothing, but tells it apart: a list that is
// ordered by that too can be read from its own index only, whatever the planner believes of how rows are spread.

export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** The event that last touched the row: its strong ETag, unique also after a move to another project. */
export const eventId = uuid('event_id').notNull()
