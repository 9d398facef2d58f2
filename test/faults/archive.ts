import type { Sql } from 'postgres'

/**
 * Keeps a copy of every event and every piece of deferred work that was ever committed, made in the very commit:
 * what a deleted project leaves is purged, and the evidence would go with it.
 */
export async function keepArchive(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create schema faults;
    create table faults.events (like events);
    create table faults.outbox (like outbox);
    create function faults.keep() returns trigger language plpgsql as $$ begin
      execute format('insert into faults.%I select * from fresh', tg_table_name);
      return null;
    end $$;
    create trigger keep after insert on events referencing new table as fresh
      for each statement execute function faults.keep();
    create trigger keep after insert on outbox referencing new table as fresh
      for each statement execute function faults.keep();`)
}
