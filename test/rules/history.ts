import type { StoredEvent } from '../../src/model/events.ts'
import type { Sql } from '../kit.ts'

type Stream = { projectId: string; version: number; lastNumber: number }

/** All events, oldest first. Event ids are ordered by time, even across projects. */
export const readEvents = (sql: Sql) =>
  sql<StoredEvent[]>`select *, seq::float8 as seq from events order by id`

export const readStreams = (sql: Sql) => sql<Stream[]>`
  select project_id, version::float8 as version, last_number from streams order by project_id`
