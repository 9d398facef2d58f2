import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { read } from './source.ts'

const folder = 'drizzle/migrations'
/** The previous release must be able to serve requests while a later migration runs. */
const baseline = '0024_baseline.sql'
/** Statements that are allowed because no running release needs what they remove. */
const removals: string[] = [
  // Another index of the same migration begins with the same columns.
  'DROP INDEX "import_items_parent";',
  // The previous release deletes expired records more slowly without it.
  'DROP INDEX "idempotency_keys_age";',
]

const migrations = readdirSync(folder)
  .filter((name) => name.endsWith('.sql') && name > baseline)
  .sort()
  .map((name) => ({ name, statements: statementsOf(read(`${folder}/${name}`).text) }))

function statementsOf(text: string): string[] {
  return text.split('--> statement-breakpoint').flatMap((one) => one.trim() || [])
}

function harm(statement: string, created: string[]): string | undefined {
  const [, table = ''] = / (?:ON|TABLE|INTO) "(\w+)"/i.exec(statement) ?? []
  if (removals.includes(statement) || /^CREATE TABLE /i.test(statement)) return undefined
  if (/^CREATE (UNIQUE )?INDEX /i.test(statement)) {
    const isConcurrent = /^CREATE (UNIQUE )?INDEX CONCURRENTLY /i.test(statement)
    return isConcurrent || created.includes(table) ? undefined : 'it blocks writes to the table'
  }
  if (created.includes(table) || isConditional(statement, created)) return undefined
  if (/^ALTER TABLE "\w+" ADD COLUMN /i.test(statement))
    return /NOT NULL/i.test(statement) && !/DEFAULT/i.test(statement)
      ? 'inserts of the previous release omit the column'
      : undefined
  return /^ALTER TABLE "\w+" ALTER COLUMN "\w+" (DROP NOT NULL|SET DEFAULT)/i.test(statement)
    ? undefined
    : 'it does more than add'
}

/** Blocks that create extensions where allowed, and indexes on new tables. */
const isConditional = (statement: string, created: string[]): boolean =>
  /^DO \$\$ BEGIN\s/i.test(statement) &&
  [...statement.matchAll(/\b(CREATE|ALTER|DROP|UPDATE|DELETE|INSERT)\b[^;]*/gi)].every(
    ([one]) =>
      /^CREATE EXTENSION IF NOT EXISTS /i.test(one) ||
      created.includes(/^CREATE INDEX "\w+" ON "(\w+)"/i.exec(one)?.[1] ?? ''),
  )

const createdIn = (statements: string[]) =>
  statements.flatMap((one) => /^CREATE TABLE "(\w+)"/i.exec(one)?.[1] ?? [])

test('no migration breaks the previous release while both run', () => {
  expect(migrations.length).toBeGreaterThan(4)
  const found = migrations.flatMap(({ name, statements }) =>
    statements.flatMap((one) => {
      const reason = harm(one, createdIn(statements))
      return reason ? [`${name}: ${one}: ${reason}`] : []
    }),
  )
  expect(found).toEqual([])
})

test('the baseline does not change: it creates the same tables as the migrations that it replaces', () => {
  const digest = createHash('sha256')
    .update(read(`${folder}/${baseline}`).text)
    .digest('hex')
  // The tables, columns, constraints and indexes were compared when the baseline was made.
  expect(digest).toBe('50841c5b6a839b7c4876f8d7315b812c4db983ad03fc0e1503fcdc48b41899f4')
})

test('the check reports statements that would break the previous release', () => {
  for (const bad of [
    'CREATE INDEX "a" ON "tasks" USING btree ("id");',
    'ALTER TABLE "tasks" ADD COLUMN "a" text NOT NULL;',
    'ALTER TABLE "tasks" DROP COLUMN "title";',
    'ALTER TABLE "tasks" RENAME COLUMN "title" TO "name";',
    'ALTER TABLE "tasks" ALTER COLUMN "title" SET DATA TYPE varchar(9);',
    'ALTER TABLE "tasks" ADD CONSTRAINT "a" CHECK (number > 0);',
    'DROP INDEX "events_task";',
    'DO $$ BEGIN CREATE INDEX "a" ON "tasks" USING gin ("title"); END $$;',
    'DO $$ BEGIN DROP EXTENSION pg_trgm; END $$;',
    'UPDATE "tasks" SET title = upper(title);',
    'INSERT INTO "tasks" SELECT * FROM "tasks";',
  ])
    expect([bad, harm(bad, [])]).toEqual([bad, expect.any(String)])
})
