import type { Steps } from '../../modules/search/indexing/step.ts'
import { maxRows } from '../../modules/search/indexing/fill-pages.ts'
import type { Config } from '../../src/config.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { nilId } from '../../src/id-format.ts'
import { forEachPage, type Throttle } from '../throttle.ts'
import { awaitShortList } from './merge.ts'

const maxProjects = 100
/** The rows of the projects that are filled at the same time. The number of rows of a project is about its version. */
const rowsAtOnce = 2 * maxRows

/** After a notification, the fill pauses nine times as long as it works. */
const busyMs = 1_000
const busyPauses = 9

interface Options {
  sql: Sql
  steps: Steps
  config: Pick<Config, 'jobBatchRows' | 'jobPauseMs'>
  isActive(): boolean
}

/** `run` fills all projects whose first fill is not complete, some at a time. `yield` makes longer pauses for a second. */
export function openFill({ sql, steps, config, isActive }: Options) {
  let busyUntil = 0
  const throttle: Throttle = {
    batchRows: config.jobBatchRows,
    pauseMs: config.jobPauseMs,
    isOver: () => !isActive(),
    pauses: () => (performance.now() < busyUntil ? busyPauses : 0),
  }
  return {
    yield: () => void (busyUntil = performance.now() + busyMs),

    async run(): Promise<void> {
      for (let after = nilId; ;) {
        const projectIds = await nextProjects(sql, after)
        if (projectIds.length === 0) return
        await forEachPage(throttle, projectIds, async (some) => {
          await awaitShortList(sql)
          const { left } = await steps.fillPages(some)
          return left.length > 0 ? left : undefined
        })
        after = projectIds.at(-1)!
      }
    },
  }
}

async function nextProjects(sql: Sql, after: string): Promise<string[]> {
  const rows = await sql<{ projectId: string; version: number }[]>`
    select p.project_id, s.version::float8 as version
    from search_positions p join streams s on s.project_id = p.project_id
    where p.fill is not null and p.project_id > ${after} order by p.project_id limit ${maxProjects}`
  let sum = 0
  return rows
    .filter(({ version }) => {
      const isNext = sum < rowsAtOnce
      sum += Math.min(version, maxRows)
      return isNext
    })
    .map(({ projectId }) => projectId)
}
