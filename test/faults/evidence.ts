import type postgres from 'postgres'
import type { User } from '../../modules/accounts/user.ts'
import { eventView, type ReadEvent } from '../../modules/events/schema.ts'
import { readConfig } from '../../src/config.ts'
import { rowBefore } from '../../src/log/rows.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'
import { openDatabase, type Sql } from '../../src/postgres/database.ts'
import { readRows } from '../support/stored-rows.ts'

export type Row = Record<string, unknown> & { id: string; eventId: string }

export interface LogEvent extends Omit<StoredEvent, 'type' | 'before' | 'after'> {
  type: string
  taskId: string | null
  batch: number | null
  undoes: number | null
  xact: string
  before: Row | null
  /** Includes the children of the task in `task.moved_in`. */
  after: Row | null
}

export interface StoredResponse {
  status: number
  etag: string | null
  body: string
  xact: string
}

export interface Evidence {
  /** All committed events, including events of purged projects, ordered by project and seq. */
  events: LogEvent[]
  rows: { entity: Entity; row: Row }[]
  streams: { projectId: string; version: number; lastNumber: number }[]
  projectsWithEvents: string[]
  responses: Map<string, StoredResponse>
  people: Map<string, User>
  pendingJobs: { name: string; projectId: string }[]
}

export async function readEvidence(env: Record<string, string>): Promise<Evidence> {
  const database = openDatabase(readConfig({ ...env, READ_TIMEOUT_MS: '120000' }))
  try {
    return await read(database.reads)
  } finally {
    await database.close()
  }
}

async function read(sql: Sql): Promise<Evidence> {
  const responses = await sql<(StoredResponse & { key: string })[]>`
    select key, k.status, k.etag, k.body, f.xact::text as xact
    from idempotency_keys k join faults.idempotency_keys f using (scope, key)`
  const events = await sql<StoredEvent[]>`
    select ${eventFields(sql)}, ${eventRows(sql)}, e.xact::text as xact from faults.events e order by project_id, e.seq, e.id`
  const projects = await sql<{ projectId: string }[]>`select distinct project_id from events`
  const users = await sql<User[]>`select id, name, email from users`
  return {
    events: events.map((event) => ({ ...event, before: rowBefore(event) }) as unknown as LogEvent),
    rows: await readRows<Row>(sql),
    streams: await sql<Evidence['streams'][number][]>`
      select project_id, version::float8 as version, last_number from streams`,
    projectsWithEvents: projects.map(({ projectId }) => projectId),
    people: new Map(users.map((user) => [user.id, user])),
    responses: new Map(responses.map(({ key, ...response }) => [key, response])),
    pendingJobs: await sql<Evidence['pendingJobs'][number][]>`select name, project_id from outbox`,
  }
}

export const eventJson = (event: LogEvent, people: Evidence['people']): string =>
  JSON.stringify(eventView.of({ ...event, people } as unknown as ReadEvent))

/**
 * Copies every event and idempotency record into the schema `faults`, by triggers in the transaction that inserts
 * it, with the id of that transaction. Without the copies, purging deleted projects would remove the evidence.
 */
export async function createArchive(sql: Pick<postgres.Sql, 'unsafe'>): Promise<void> {
  const tables = ['events', 'idempotency_keys']
  await sql.unsafe(`
    create schema faults;
    create table faults.events (like events, xact xid8 default pg_current_xact_id());
    create table faults.idempotency_keys (like idempotency_keys, xact xid8 default pg_current_xact_id());
    create function faults.archive() returns trigger language plpgsql as $$ begin
      execute format('insert into faults.%I select * from inserted', tg_table_name);
      return null;
    end $$`)
  for (const table of tables)
    await sql.unsafe(`create trigger archive after insert on ${table} referencing new table as inserted
      for each statement execute function faults.archive()`)
}
