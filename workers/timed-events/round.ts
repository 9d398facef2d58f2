import { setTimeout as sleep } from 'node:timers/promises'
import { recordTimes } from '../../modules/reminders/commands.ts'
import type { Services } from '../../src/services.ts'
import { throttle } from '../../src/throttle.ts'
import { workerActor } from '../cascade.ts'
import { reasonOf } from '../reason.ts'
import { forEachPage } from '../throttle.ts'
import { findTasks, firstTask, type Kind, type TimedTask } from './find.ts'

/** Shorter than the interval of the rounds, so that each interval has a round of one process. */
const turnMs = 900
/** The turn of a process whose round has more pages. */
const longTurnMs = 2_000
/** The most projects in which commands run at the same time. */
const maxProjects = 100

/** With Redis, one process at a time has the turn to search. Without Redis, every process searches. */
function openTurn({ redis, config }: Services, { column }: Kind) {
  const key = `${config.redisPrefix}:turn:${column}`
  const isTaken = (reply: unknown) => reply !== null
  return {
    take: () => redis.set(key, 'taken', 'PX', turnMs, 'NX').then(isTaken, () => true),
    prolong: () => void redis.pexpire(key, longTurnMs).catch(() => {}),
  }
}

function openRecord({ run, log }: Services, pauseMs: number) {
  const warn = throttle(60_000, (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, 'times of tasks are not recorded; a later round tries again'),
  )
  return async (projectId: string, tasks: TimedTask[]): Promise<void> => {
    const startedAt = performance.now()
    const input = { projectId, ids: tasks.map(({ id }) => id) }
    await run({ name: recordTimes.name, input, caller: { userId: workerActor } }).catch(warn)
    // Leaves the project time for other commands.
    await sleep(Math.max(pauseMs, performance.now() - startedAt))
  }
}

/**
 * A round runs a command for each project with tasks whose time has come. The command checks the tasks again, so each
 * event is recorded once, even if several processes search. A round does not wait for a project whose command still runs.
 */
export function openRound(services: Services, kind: Kind, isOver: () => boolean) {
  const { config, database } = services
  const pages = { batchRows: config.jobBatchRows, pauseMs: config.jobPauseMs, isOver }
  const turn = openTurn(services, kind)
  const record = openRecord(services, pages.pauseMs)
  const running = new Map<string, Promise<unknown>>()

  async function start(projectId: string, tasks: TimedTask[]): Promise<void> {
    if (running.has(projectId) || !tasks[0]!.isInProject) return
    while (running.size >= maxProjects) await Promise.race(running.values())
    const done = record(projectId, tasks).finally(() => running.delete(projectId))
    running.set(projectId, done)
  }

  async function round(): Promise<void> {
    if (!(await turn.take())) return
    await forEachPage(pages, firstTask, async (after) => {
      const tasks = await findTasks(database.background, kind, after, pages.batchRows)
      for (const [projectId, some] of Map.groupBy(tasks, (task) => task.projectId))
        await start(projectId, some)
      if (tasks.length < pages.batchRows) return undefined
      turn.prolong()
      return tasks.at(-1)
    })
  }

  return { round, drain: () => Promise.all(running.values()) }
}
