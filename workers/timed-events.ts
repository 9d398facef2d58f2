import { setTimeout as sleep } from 'node:timers/promises'
import { recordTimes } from '../modules/tasks/commands.ts'
import { nilId } from '../src/id-format.ts'
import type { Sql, SqlPart } from '../src/postgres/database.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, throttle } from '../src/waits.ts'
import { workerActor } from './cascade.ts'
import { reasonOf } from './reason.ts'
import { forEachPage, type Throttle } from './throttle.ts'

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

/**
 * The length of a turn in ms. Shorter than the interval of the rounds, so that each interval has a round of one
 * process.
 */
const turnMs = 900
/** The length of the turn in ms if the round of a process has further pages. */
const longTurnMs = 2_000

/** With Redis, one process at a time has the turn to search. Without Redis, every process searches. */
function openTurn({ redis, config }: Services, { column }: TimeKind) {
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
export function openRound(
  services: Services,
  kind: TimeKind,
  recorder: Pick<Recorder, 'add'>,
  pages: Throttle,
) {
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

/** The maximum number of projects in which commands run at the same time. */
const maxProjects = 100
/** The maximum number of tasks of one project that wait for a command. A later round finds further tasks again. */
const maxWaiting = 5_000

/** Runs commands for tasks whose time has come, one after another in each project. */
class Recorder {
  private readonly projects = new Map<string, { ids: Set<string>; done: Promise<void> }>()
  private readonly warn

  constructor(
    private readonly services: Services,
    private readonly pages: Throttle,
  ) {
    this.warn = throttle(60_000, (error: unknown) =>
      services.log.warn({ reason: reasonOf(error) }, 'times of tasks are not recorded yet; retrying'),
    )
  }

  /** Waits while commands run in too many other projects. */
  async add(projectId: string, ids: string[]): Promise<void> {
    const waiting = this.projects.get(projectId)?.ids
    if (waiting) return ids.forEach((id) => waiting.size < maxWaiting && waiting.add(id))
    while (this.projects.size >= maxProjects) await Promise.race(this.ends())
    const added = new Set(ids)
    this.projects.set(projectId, { ids: added, done: this.record(projectId, added) })
  }

  drain = () => Promise.all(this.ends())

  private ends = () => [...this.projects.values()].map(({ done }) => done)

  private async record(projectId: string, waiting: Set<string>): Promise<void> {
    const { batchRows, pauseMs, isOver } = this.pages
    while (waiting.size > 0 && !isOver?.()) {
      const startedAt = performance.now()
      const ids = [...waiting.values().take(batchRows)]
      const isRecorded = await this.run(projectId, ids)
      // A round may have found the tasks again while the command ran.
      for (const id of isRecorded ? ids : waiting) waiting.delete(id)
      // Leaves the project time for other commands.
      await sleep(Math.max(pauseMs, performance.now() - startedAt))
    }
    this.projects.delete(projectId)
  }

  private run(projectId: string, ids: string[]): Promise<boolean> {
    const request = { name: recordTimes.name, input: { projectId, ids }, caller: { userId: workerActor } }
    return this.services.run(request).then(
      () => true,
      (error) => (this.warn(error), false),
    )
  }
}

/** A kind of time: a column of tasks, and the condition of its partial index. */
interface TimeKind {
  column: string
  condition: string
}

export const kinds: TimeKind[] = [
  { column: 'remind_at', condition: 'remind_at is not null' },
  { column: 'due_date', condition: `status <> 'DONE' and due_date > coalesce(due_after, '-infinity')` },
  { column: 'claimed_until', condition: 'claimed_by is not null' },
]

interface TimedTask {
  at: string
  id: string
  projectId: string
  /** False for a deleted project whose rows no worker has deleted yet. */
  isInProject: boolean
}

export const firstTask: Omit<TimedTask, 'isInProject'> = { at: '-infinity', projectId: nilId, id: nilId }

/** Returns the next tasks whose time has come, in the order of the index. */
export function findTasks(sql: Sql, { column, condition }: TimeKind, after: typeof firstTask, rows: number) {
  const key = sql`${sql(column)}, project_id, id`
  return sql<TimedTask[]>`
    select ${sql(column)} as at, project_id, id, ${isInProject(sql)} as is_in_project from tasks t
    where ${sql.unsafe(condition)} and ${sql(column)} <= now()
      and (${key}) > (${after.at}::text::timestamptz, ${after.projectId}::uuid, ${after.id}::uuid)
    order by ${key} limit ${rows}`
}

/** Returns how long ago the oldest time was that no event has recorded, in seconds. */
export async function oldestAge(sql: Sql): Promise<number> {
  const oldest = kinds
    .map(
      ({ column, condition }): SqlPart => sql`
        (select ${sql(column)} from tasks t where ${sql.unsafe(condition)} and ${isInProject(sql)}
          order by ${sql(column)}, project_id, id limit 1)`,
    )
    .reduce((all, one): SqlPart => sql`${all}, ${one}`)
  const [row] = await sql<{ age: number }[]>`
    select greatest(extract(epoch from now() - least(${oldest})), 0)::float8 as age`
  return row!.age
}

const isInProject = (sql: Sql) => sql`exists (select from projects p where p.id = t.project_id)`
