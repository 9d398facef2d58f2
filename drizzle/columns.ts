import { timestamp, uuid } from 'drizzle-orm/pg-core'

// Columns that several tables have.

export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** The event that last touched the row: its strong ETag, unique also after a move to another project. */
export const eventId = uuid('event_id').notNull()
