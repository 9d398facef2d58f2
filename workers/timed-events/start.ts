import { repeatedly } from '../../src/waits.ts'
import type { Services } from '../../src/services.ts'
import { forEachPage, type Throttle } from '../throttle.ts'
import { kinds, Recorder, findTasks, firstTask, type Kind } from './recorder.ts'

const searchEveryMs = 1_000

/** Each kind of time has rounds and commands of its own, so that many due dates delay no end of a claim. */
export function startTimedEvents(services: Services): () => Promise<void> {
  const { jobBatchRows: batchRows, jobPauseMs: pauseMs } = services.config
  let isStopping = false
  const pages = { batchRows, pauseMs, isOver: () => isStopping }
  const stops = kinds.map((kind) => {
    const recorder = new Recorder(services, pages)
    const stop = repeatedly(openRound(services, kind, recorder, pages), searchEveryMs, services.log)
    return () => stop().then(recorder.drain)
  })
  return async () => {
    isStopping = true
    await Promise.all(stops.map((stop) => stop()))
  }
}

/** Shorter than the interval of the rounds, so that each interval has a round of one process. */
const turnMs = 900
/** The turn of a process whose round has more pages. */
const longTurnMs = 2_000

/** With Redis, one process at a time has the turn to search. Without Redis, every process searches. */
function openTurn({ redis, config }: Services, { column }: Kind) {
  const key = `${config.redisPrefix}:turn:${column}`
  const isTaken = (reply: unknown) => reply !== null
  return {
    take: () => redis.set(key, 'taken', 'PX', turnMs, 'NX').then(isTaken, () => true),
    prolong: (ms: number) => void redis.pexpire(key, ms).catch(() => {}),
  }
}

/**
 * Returns a function that searches for the tasks whose time has come. The command for these tasks checks them again, so
 * each event is recorded once, even if several processes search.
 */
export function openRound(services: Services, kind: Kind, recorder: Pick<Recorder, 'add'>, pages: Throttle) {
  const turn = openTurn(services, kind)
  return async (): Promise<void> => {
    if (!(await turn.take())) return
    await forEachPage(pages, firstTask, async (after) => {
      const tasks = await findTasks(services.database.background, kind, after, pages.batchRows)
      const present = tasks.filter(({ isInProject }) => isInProject)
      for (const [projectId, some] of Map.groupBy(present, (task) => task.projectId))
        await recorder.add(
          projectId,
          some.map(({ id }) => id),
        )
      const isLast = tasks.length < pages.batchRows
      turn.prolong(isLast ? turnMs : longTurnMs)
      return isLast ? undefined : tasks.at(-1)
    })
  }
}
