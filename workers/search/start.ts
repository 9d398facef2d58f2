import { openSteps } from '../../modules/search/indexing/step.ts'
import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { throttle } from '../../src/throttle.ts'
import { reasonOf } from '../reason.ts'
import { SliceEnded } from '../throttle.ts'
import type { ChangedProjects } from './changed-projects.ts'
import { openFill } from './fill.ts'
import { openIndexLoop } from './index-loop.ts'
import { openMerge } from './merge.ts'
import { openSweep } from './sweep.ts'
import { openTurn } from './turn.ts'

const renewEveryMs = 700
const fillEveryMs = 500
const mergeEveryMs = 500

/** Indexes changes soon after their commits, so that a search rarely has to index changes itself. */
export function startSearchIndexing(services: Services, changed: ChangedProjects): () => Promise<void> {
  const { config, database, notifications, log } = services
  const sql = database.background
  const turn = openTurn(services)
  const steps = openSteps(database.indexing)
  let isStopping = false
  const isActive = () => turn.isOwn() && !isStopping
  const warn = throttle(60_000, (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'the search index is not up to date; retrying'),
  )
  const loop = openIndexLoop({ sql, steps, changed, isActive, pauseMs: config.jobPauseMs, warn })
  const add = (projectId: string) => {
    if (!isActive()) return
    changed.add(projectId)
    loop.wake()
  }
  const sweep = openSweep(sql, add)
  const fill = openFill({ sql, steps, config, isActive })
  const whileActive = (work: () => Promise<void>) => async () => {
    if (isActive()) await work().catch((error) => error instanceof SliceEnded || warn(error))
  }
  const renew = () => turn.renew(sweep.restart, changed.clear)
  void renew().catch(warn)
  const stops = [
    repeatedly(renew, renewEveryMs, log),
    repeatedly(whileActive(sweep.next), config.sweepEveryMs, log),
    repeatedly(whileActive(fill.run), fillEveryMs, log),
    repeatedly(whileActive(openMerge(sql)), mergeEveryMs, log),
    notifications.listen(({ projectId }) => (fill.yield(), add(projectId))),
    loop.stop,
  ]
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
    await turn.release().catch(() => {})
  }
}
