import type { Sql } from 'postgres'

/**
 * Keeps a copy of every event, every piece of deferred work and every answer under a key that was ever committed, made in
 * the very commit, and says in which: what a deleted project leaves is purged, and the evidence would go with it.
 */
export async function keepArchive(sql: Sql): Promise<void> {
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
