import { setTimeout as sleep } from 'node:timers/promises'
import { deleteDocuments, fillNext } from '../modules/search/indexing.ts'
import { indexEvents, isBehind, readProgress } from '../modules/search/indexing.ts'
import type { Sql } from '../src/postgres/database.ts'
import { isTransient } from '../src/postgres/errors.ts'
import type { Services } from '../src/services.ts'
import { repeatedly } from '../src/waits.ts'
import { type ChangedProjects, followLogs, maxFollowed, openWarn } from './followers.ts'
import { type Throttle, whilePagesAreFull } from './throttle.ts'

/** Changes within this time are indexed together. */
const collectMs = 50
const fillEveryMs = 500
/** For `ms` after a notification of changes, a fill pauses `pauses` times as long as it works. */
const busy = { ms: 1_000, pauses: 9 }

/** Indexes changes soon after their commits, so that a search rarely has to index changes itself. */
export function startSearchIndexing(services: Services, changed: ChangedProjects): () => Promise<void> {
  const { config, database, notifications, log } = services
  const sql = database.background
  const warn = openWarn(services, 'the search index is not up to date')
  let [isStopping, busyUntil] = [false, 0]
  const fill = async () => {
    const filling = await sql<{ projectId: string }[]>`
      select project_id from search_cursors where fill is not null order by project_id limit ${maxFollowed}`
    for (const { projectId } of filling)
      for (let isLeft = true; isLeft && !isStopping;) {
        const startedAt = performance.now()
        isLeft = await fillNext(sql, projectId)
        const factor = performance.now() < busyUntil ? busy.pauses : 1
        await sleep(Math.max(config.jobPauseMs, (performance.now() - startedAt) * factor))
      }
  }
  const stops = [
    followLogs(services, {
      ...{ name: 'search-documents', cursors: 'search_cursors', everyMs: collectMs, changed, warn },
      follow: (projectIds) => indexProjects(database.indexing, projectIds, warn),
    }),
    repeatedly(() => fill().catch(warn), fillEveryMs, log),
    notifications.listen(() => (busyUntil = performance.now() + busy.ms)),
  ]
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
  }
}

/** Returns the projects that have more events. A project that cannot be indexed does not delay others: the sweep finds it again. */
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

/** Deletes the cursor last, so that an interrupted deletion continues. */
export async function purgeDocuments(sql: Sql, projectId: string, throttle: Throttle): Promise<void> {
  await whilePagesAreFull(throttle, () => deleteDocuments(sql, projectId, throttle.batchRows))
  await sql`delete from search_cursors where project_id = ${projectId}`
}
