import { type SQL, sql } from 'drizzle-orm'
import { type ExtraConfigColumn, index, timestamp, uuid } from 'drizzle-orm/pg-core'

// Tables have no foreign keys, because a foreign key locks and checks each row again. Instead, the project's actor
// checks references, the compare-and-swap of the version protects commits, and jobs delete dependent rows.

// Each list has its own index. The columns after the id do not change the order: queries also sort by these columns, so
// that the planner chooses the index of the list.

export const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })

/** The id of the row's last event is also its strong ETag: unique even after a move to another project. */
export const eventId = uuid('event_id').notNull()

type IndexedColumns = [Partial<ExtraConfigColumn> | SQL, ...(Partial<ExtraConfigColumn> | SQL)[]]

/** An index of the rows that meet the condition. */
export const partialIndex = (name: string, columns: IndexedColumns, condition: string) =>
  index(name)
    .on(...columns)
    .where(sql.raw(condition))
