import type postgres from 'postgres'
import type { Entity } from '../../src/model/entities.ts'
import type { User } from '../../modules/accounts/user.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { rowAfter, rowBefore } from '../../src/log/rows.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabase, type Sql } from '../../src/postgres/database.ts'
import { eventFields, eventRows } from '../../src/postgres/columns.ts'
import { readRows } from '../support/stored-rows.ts'
import { eventView } from '../../modules/events/schema.ts'
import type { ReadEvent } from '../../modules/events/views.ts'

export type Row = Record<string, unknown> & { id: string; eventId: string }

export interface Fact {
  projectId: string
  seq: number
  id: string
  type: string
  entity: Entity
  entityId: string
  taskId: string | null
  actorId: string
  at: string
  batch: number | null
  undoes: number | null
  xact: string
  before: Row | null
  /** The row it left; when a task came from another project, with what hangs on it. */
  after: Row | null
}

export interface KeptAnswer {
  status: number
  etag: string | null
  body: string
  xact: string
}

export interface Evidence {
  /** All that were ever committed, by project and in their order. */
  facts: Fact[]
  rows: { entity: Entity; row: Row }[]
  streams: { projectId: string; version: number; lastNumber: number }[]
  remembered: string[]
  kept: Map<string, KeptAnswer>
  people: Map<string, User>
  /** Deferred work: ever asked for, and still owed. */
  posted: number
  owed: { name: string; projectId: string }[]
}

export async function gather(env: Record<string, string>): Promise<Evidence> {
  const database = openDatabase(readConfig({ ...env, READ_TIMEOUT_MS: '120000' }))
  try {
    return await read(database.reads)
  } finally {
    await database.close()
  }
}

async function read(sql: Sql): Promise<Evidence> {
  const kept = await sql<
    (KeptAnswer & { key: string })[]
  >`select key, k.status, k.etag, k.body, f.xact::text as xact
    from idempotency_keys k join faults.idempotency_keys f using (scope, key)`
  const [count] = await sql<{ posted: number }[]>`select count(*)::int4 as posted from faults.outbox`
  const facts = await sql<StoredEvent[]>`
    select ${eventFields(sql)}, ${eventRows(sql)}, e.xact::text as xact from faults.events e order by project_id, e.seq, e.id`
  const remembered = await sql<{ projectId: string }[]>`select distinct project_id from events`
  return {
    facts: facts.map((fact) => ({ ...fact, before: rowBefore(fact) }) as unknown as Fact),
    rows: await readRows<Row>(sql),
    streams: await sql<Evidence['streams'][number][]>`
      select project_id, version::float8 as version, last_number from streams`,
    remembered: remembered.map(({ projectId }) => projectId),
    people: await peopleIn(sql),
    kept: new Map(kept.map(({ key, ...answer }) => [key, answer])),
    posted: count?.posted ?? 0,
    owed: await sql<Evidence['owed'][number][]>`select name, project_id from outbox`,
  }
}

async function peopleIn(sql: Sql): Promise<Map<string, User>> {
  const users = await sql<User[]>`select id, name, email from users`
  return new Map(users.map((user) => [user.id, user]))
}

/** The row that an event left, without what else it says. */
export const rowOf = (fact: Fact): Row | null =>
  rowAfter(fact as unknown as StoredEvent) as unknown as Row | null

export const shownFact = (fact: Fact, people: Evidence['people']): string =>
  JSON.stringify(eventView.of({ ...fact, people } as unknown as ReadEvent))

/**
 * Keeps a copy of every event, every piece of deferred work and every answer under a key that was ever committed, made in
 * the very commit, and says in which: what a deleted project leaves is purged, and the evidence would go with it.
 */
export async function keepArchive(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema faults;
    create table faults.events (like events, xact xid8 default pg_current_xact_id());
    create table faults.idempotency_keys (like idempotency_keys, xact xid8 default pg_current_xact_id());
    create table faults.outbox (like outbox);
    create function faults.keep() returns trigger language plpgsql as $$ begin
      execute format('insert into faults.%I select * from fresh', tg_table_name);
      return null;
    end $$;
    create trigger keep after insert on events referencing new table as fresh
      for each statement execute function faults.keep();
    create trigger keep after insert on idempotency_keys referencing new table as fresh
      for each statement execute function faults.keep();
    create trigger keep after insert on outbox referencing new table as fresh
      for each statement execute function faults.keep();`)
}
