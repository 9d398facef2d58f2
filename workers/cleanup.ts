import type { Receiver } from '../modules/webhooks/send.ts'
import { nilId } from '../src/id-format.ts'
import type { Encryption } from '../src/identity/secrets.ts'
import { firstIdAt, nowMs } from '../src/ids.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Services } from '../src/services.ts'
import { endLostImports, expireImports } from './imports/remove.ts'
import type { Steps } from './run-jobs.ts'
import { forEachPage, purgeRows, type Throttle } from './throttle.ts'

export function recurringSteps({ config, database: { background: sql }, encryption }: Services): Steps {
  const { historyDays, idempotencyHours } = config
  const steps: Steps = {
    'reseal-secrets': (throttle) => reencryptSecrets(sql, encryption, throttle),
    'expire-deliveries': (throttle) => expireDeliveries(sql, throttle),
    'expire-keys': (throttle) => expireKeys(sql, idempotencyHours, throttle),
    'expire-imports': (throttle) => expireImports(sql, throttle),
    'end-lost-imports': (throttle) => endLostImports(sql, throttle),
  }
  for (const table of Object.keys(expiring) as ExpiringTable[])
    steps[`expire-${table}`] = (throttle) => expireRows(sql, table, throttle)
  for (const [name, search] of Object.entries(orphanSearches))
    steps[`find-orphans-${name}`] = (throttle) => queueOrphanJobs(sql, search, throttle)
  if (historyDays > 0) steps['expire-events'] = (throttle) => expireEvents(sql, historyDays, throttle)
  return steps
}

/** When the rows of a table have expired, by an index. */
const expiring = {
  api_tokens: 'expires_at < now()',
  revoked_tokens: 'expires_at < now()',
  mail_tokens: 'expires_at < now()',
  // The document of a deleted row remains for an hour, so that a slow process does not write an older document.
  search_documents: "doc is null and at < now() - interval '1 hour'",
}
type ExpiringTable = keyof typeof expiring

export const expireRows = (sql: Sql, table: ExpiringTable, throttle: Throttle): Promise<void> =>
  purgeRows(sql, table, sql.unsafe(expiring[table]), throttle)

/** Blocks of a table that one statement reads. */
const pageBlocks = 64

/**
 * Deletes the expired records in the physical order of the table, because no index has their times. Begins at a random
 * page, so that runs that a stop of the worker ends also reach the last pages.
 */
export async function expireKeys(sql: Sql, hours: number, throttle: Throttle): Promise<void> {
  const [{ blocks } = { blocks: 0 }] = await sql<{ blocks: number }[]>`
    select (pg_relation_size('idempotency_keys') / current_setting('block_size')::int8)::float8 as blocks`
  const pages = Math.ceil(blocks / pageBlocks)
  const first = Math.floor(Math.random() * pages)
  await forEachPage(throttle, 0, async (done) => {
    const from = ((first + done) % Math.max(1, pages)) * pageBlocks
    await sql`
      delete from idempotency_keys
      where ctid >= ${`(${from},0)`}::text::tid and ctid < ${`(${from + pageBlocks},0)`}::text::tid
        and created_at < now() - ${hours}::int4 * interval '1 hour'`
    return done + 1 < pages ? done + 1 : undefined
  })
}

/** Keeps the newest event of each project, because the version of the project comes from this event. */
export const expireEvents = (sql: Sql, days: number, throttle: Throttle): Promise<void> =>
  forEachPage(throttle, nilId, async (after) => {
    const page = await sql<{ projectId: string; isExpired: boolean | null }[]>`
      select project_id, (select ${isOld(sql, days)} and e.seq < s.version
        from events e where e.project_id = s.project_id order by e.seq limit 1) as is_expired
      from streams s where project_id > ${after} order by project_id limit ${searchRows}`
    for (const { projectId, isExpired } of page)
      if (isExpired)
        await forEachPage(throttle, 0, (removed) =>
          removeOldest(sql, projectId, days, removed, throttle.batchRows),
        )
    return page.length === searchRows ? page.at(-1)!.projectId : undefined
  })

const searchRows = 1_000

const isOld = (sql: Sql, days: number) => {
  const end = sql`now() - ${days}::int4 * interval '1 day'`
  // An event with a time in the future, from a clock that was ahead, is as old as the next event with a past time.
  const next = sql`select next.at < ${end} from events next where next.project_id = e.project_id
    and next.seq between e.seq and e.seq + ${maxAhead} and next.at <= now() order by next.seq limit 1`
  return sql`case when e.at <= now() then e.at < ${end} else coalesce((${next}), false) end`
}

/** The maximum number of successive events with times in the future that are skipped. */
const maxAhead = 1_000

/**
 * Deletes at most `rows` events, up to the first that has not expired. Returns the last deleted seq, to continue.
 * @param removed the last deleted seq, so that the statement does not read the dead rows of deleted events
 */
async function removeOldest(sql: Sql, projectId: string, days: number, removed: number, rows: number) {
  const [row] = await sql<{ last: number }[]>`
    with next as materialized (select e.seq, ${isOld(sql, days)} as is_old from events e
      join streams s on s.project_id = e.project_id
      where e.project_id = ${projectId} and e.seq > ${removed}::bigint and e.seq < s.version order by e.seq limit ${rows}),
    expired as materialized (select seq from next where seq < all (select seq from next where not is_old)),
    deleted as (delete from events where project_id = ${projectId} and seq > ${removed}::bigint
      and seq <= (select max(seq) from expired))
    select max(seq)::float8 as last from expired having count(*) = ${rows}`
  return row?.last
}

/** A search for rows in `table` whose `key` is not the id of a row in `owner`, and the job for a missing owner. */
interface OrphanSearch {
  table: string
  key: string
  owner: string
  job: string
  /** The field of the job's data that contains the id of the owner. */
  dataKey: string
}

const ofProjects = { owner: 'projects', job: 'purge-project', dataKey: 'projectId' }
const ofUsers = { owner: 'users', job: 'close-account', dataKey: 'userId' }

export const orphanSearches = {
  // The restore of a backup may leave streams without a project.
  streams: { table: 'streams', key: 'project_id', ...ofProjects },
  // A write that was authorized before the deletion of an account may commit after the `close-account` job.
  projects: { table: 'projects', key: 'owner_id', ...ofUsers },
  members: { table: 'members', key: 'user_id', ...ofUsers },
} satisfies Record<string, OrphanSearch>

/** Inserts a job for each missing owner, unless the outbox has such a job, even as a dead letter. */
export const queueOrphanJobs = (sql: Sql, search: OrphanSearch, throttle: Throttle): Promise<void> =>
  forEachPage(throttle, nilId, async (after) => {
    const { table, owner, job, dataKey } = search
    const key = sql(search.key)
    // With `not exists`, Postgres would read the whole table of owners.
    const [page] = await sql<{ rows: number; last: string }[]>`
      with page as materialized (
        select ${key} as key from ${sql(table)} where ${key} > ${after} order by ${key} limit ${searchRows}),
      queued as (
        insert into outbox (id, project_id, name, data, created_at)
        select gen_random_uuid(), ${owner === 'projects' ? sql`key` : sql`null::uuid`}, ${job},
          jsonb_build_object(${dataKey}::text, key), now()
        from (select distinct key from page where (select id from ${sql(owner)} where id = key) is null) orphan
        where not exists (select from outbox o where o.name = ${job} and o.data->>${dataKey}::text = key::text))
      select count(*)::int4 as rows, (select key from page order by key desc limit 1) as last from page`
    return page!.rows === searchRows ? page!.last : undefined
  })

const keptMs = 30 * 86_400_000
const searchWebhooks = 500

/** Deletes the deliveries of deleted webhooks, and old deliveries. */
const expireDeliveries = (sql: Sql, throttle: Throttle): Promise<void> =>
  forEachPage(throttle, nilId, async (after) => {
    const page = await sql<{ webhookId: string; isDeleted: boolean }[]>`
      with recursive next as (
        (select webhook_id from webhook_deliveries where webhook_id > ${after} order by webhook_id limit 1)
        union all
        select (select d.webhook_id from webhook_deliveries d where d.webhook_id > next.webhook_id order by d.webhook_id limit 1)
        from next where next.webhook_id is not null)
      select webhook_id, (select id from webhooks w where w.id = webhook_id) is null as is_deleted
      from next where webhook_id is not null limit ${searchWebhooks}`
    const deleted = page.flatMap(({ webhookId, isDeleted }) => (isDeleted ? webhookId : []))
    const all = page.map(({ webhookId }) => webhookId)
    const oldest = firstIdAt(nowMs() - keptMs)
    for (const where of [
      sql`webhook_id = any(${deleted}::uuid[])`,
      sql`webhook_id = any(${all}::uuid[]) and id < ${oldest}::uuid`,
    ])
      await purgeRows(sql, 'webhook_deliveries', where, throttle)
    return page.length === searchWebhooks ? all.at(-1) : undefined
  })

/** After this step, the operator can keep only the first secret in JWT_SECRET. */
const reencryptSecrets = (sql: Sql, { reencrypt }: Encryption, throttle: Throttle): Promise<void> =>
  forEachPage(throttle, nilId, async (after) => {
    const rows = await sql<Pick<Receiver, 'id' | 'secret' | 'formerSecret'>[]>`
      select id, secret, former_secret from webhooks where id > ${after} order by id limit ${throttle.batchRows}`
    for (const { id, secret, formerSecret } of rows) {
      const [next, nextFormer] = [reencrypt(secret), formerSecret && reencrypt(formerSecret)]
      if (next !== secret || nextFormer !== formerSecret)
        await sql`update webhooks set secret = ${next}, former_secret = ${nextFormer}
          where id = ${id} and secret = ${secret} and former_secret is not distinct from ${formerSecret}`
    }
    return rows.length === throttle.batchRows ? rows.at(-1)!.id : undefined
  })
