import { setTimeout as sleep } from 'node:timers/promises'
import { deleteDocuments, fillNext } from '../modules/search/documents.ts'
import { indexEvents, isBehind, maxProjects, readProgress } from '../modules/search/indexing.ts'
import { nilId } from '../src/id-format.ts'
import type { Sql } from '../src/postgres/database.ts'
import { isTransient } from '../src/postgres/errors.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, throttle } from '../src/waits.ts'
import { reasonOf } from './reason.ts'
import { type Throttle, whilePagesAreFull } from './throttle.ts'
import { openTurn } from './turn.ts'

/** Changes within this time are indexed together. */
const collectMs = 50
/**
 * The pause in which changes collect, as a multiple of the time that the last step took. Indexing many changes together
 * costs less.
 */
const pauses = { factor: 3, maxMs: 300 }
const retryMs = 1_000
const fillEveryMs = 500
/** For `ms` after a notification of changes, a fill pauses `pauses` times as long as it works. */
const busy = { ms: 1_000, pauses: 9 }
/** The maximum number of projects in memory. The sweep finds the projects that are left out. */
const maxChanged = 100_000
/** Reading a page takes about 15 ms. */
const sweepRows = 5_000
/** A document of a deleted row remains for this time, so that a slow process does not write an older document. */
const deletedHours = 1
const deletedRows = 2_000

/** Projects with changes to index, and since when, in the order of these times. */
export type ChangedProjects = Map<string, number>

/** Indexes changes soon after their commits, so that a search rarely has to index changes itself. */
export function startSearchIndexing(services: Services, changed: ChangedProjects): () => Promise<void> {
  const { config, database, notifications, log } = services
  const sql = database.background
  const hasTurn = openTurn(services, 'search-documents')
  let [isStopping, busyUntil] = [false, 0]
  const warn = throttle(60_000, (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'the search index is not up to date; retrying'),
  )
  const add = (projectId: string, since = performance.now()) => {
    if (changed.size < maxChanged && !changed.has(projectId)) changed.set(projectId, since)
  }
  const index = async () => {
    while (changed.size > 0 && !isStopping) {
      if (!(await hasTurn())) return changed.clear()
      const [startedAt, taken] = [performance.now(), [...changed.entries().take(maxProjects)]]
      for (const [id] of taken) changed.delete(id)
      const left = await indexProjects(
        database.indexing,
        taken.map(([id]) => id),
        warn,
      )
      // Adds the projects with further changes at the end, so that a project with many changes does not delay the
      // others.
      for (const [id, since] of taken) if (left.includes(id)) add(id, since)
      const pauseMs = left.length > 0 ? 0 : (performance.now() - startedAt) * pauses.factor
      await sleep(Math.max(config.jobPauseMs, Math.min(pauseMs, pauses.maxMs)))
    }
  }
  const fill = async () => {
    const filling = await sql<{ projectId: string }[]>`
      select project_id from search_cursors where fill is not null order by project_id limit ${maxProjects}`
    for (const { projectId } of filling)
      for (let isLeft = true; isLeft && !isStopping;) {
        const startedAt = performance.now()
        isLeft = await fillNext(sql, projectId)
        const factor = performance.now() < busyUntil ? busy.pauses : 1
        await sleep(Math.max(config.jobPauseMs, (performance.now() - startedAt) * factor))
      }
  }
  const retrying = (work: () => Promise<void>) => () => work().catch((error) => (warn(error), sleep(retryMs)))
  const stops = [
    repeatedly(retrying(index), collectMs, log),
    repeatedly(retrying(fill), fillEveryMs, log),
    repeatedly(retrying(openSweep(sql, add, config)), config.sweepEveryMs, log),
    notifications.listen(({ projectId }) => {
      busyUntil = performance.now() + busy.ms
      add(projectId)
    }),
  ]
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
  }
}

/**
 * Indexes the next events of projects, and returns the projects that have more. A project that cannot be indexed does not
 * delay the others: the sweep finds the project again.
 */
async function indexProjects(
  sql: Sql,
  projectIds: string[],
  warn: (error: unknown) => void,
): Promise<string[]> {
  const behind = (await readProgress(sql, projectIds)).filter((one) => isBehind(one))
  try {
    await indexEvents(sql, behind)
  } catch (error) {
    if (isTransient(error)) throw error
    for (const one of behind) await indexEvents(sql, [one]).catch(warn)
    return []
  }
  const after = await readProgress(
    sql,
    behind.map(({ projectId }) => projectId),
  )
  return after.filter((one) => isBehind(one)).map(({ projectId }) => projectId)
}

/** Returns a function that finds the next projects with events to index, and deletes what remains of deleted rows and projects. */
function openSweep(sql: Sql, add: (projectId: string) => void, config: Services['config']) {
  let after = nilId
  return async (): Promise<void> => {
    const [page] = await sql<{ count: number; last: string; behind: string | null }[]>`
      with page as materialized (
        select project_id, version, last_event_id from streams where project_id > ${after} order by project_id limit ${sweepRows})
      select count(*)::int4 as count, (select project_id from page order by 1 desc limit 1) as last,
        string_agg(s.project_id::text, ' ') filter (where (c.seq = s.version and c.event_id = s.last_event_id) is not true) as behind
      from page s left join search_cursors c on c.project_id = s.project_id`
    page!.behind?.split(' ').forEach((projectId) => add(projectId))
    const next = page!.count === sweepRows ? page!.last : undefined
    // The previous release deletes projects without their documents.
    const orphans = await sql<{ projectId: string }[]>`
      select project_id from search_cursors c where project_id > ${after} and (project_id <= ${next ?? nilId} or ${!next})
        and not exists (select from streams s where s.project_id = c.project_id)`
    const throttle = { batchRows: config.jobBatchRows, pauseMs: config.jobPauseMs }
    for (const { projectId } of orphans) await purgeDocuments(sql, projectId, throttle)
    after = next ?? nilId
    await sql`delete from search_documents where id = any(array(
      select id from search_documents where doc is null and at < now() - ${deletedHours}::int4 * interval '1 hour'
      order by at limit ${deletedRows}))`
  }
}

/** Deletes the cursor last, so that an interrupted deletion continues. */
export async function purgeDocuments(sql: Sql, projectId: string, throttle: Throttle): Promise<void> {
  await whilePagesAreFull(throttle, () => deleteDocuments(sql, projectId, throttle.batchRows))
  await sql`delete from search_cursors where project_id = ${projectId}`
}
