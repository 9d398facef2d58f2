import { setTimeout as sleep } from 'node:timers/promises'
import { recordTimes } from '../modules/tasks/commands.ts'
import { nilId } from '../src/id-format.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Services } from '../src/services.ts'
import { serviceActor } from '../src/model/events.ts'
import { openProjectRuns, openTurn } from './followers.ts'
import { forEachPage, type Loops, type Throttle, warnRarely } from './throttle.ts'

const searchEveryMs = 1_000
/** Each kind of time has rounds and commands of its own, so that many due dates delay no end of a claim. */
export function startTimedEvents(services: Services, loops: Loops): void {
  for (const kind of kinds) {
    const runs = openProjectRuns(warnRarely(services.log, 'times of tasks are not recorded yet; retrying'))
    loops.every(searchEveryMs, openRound(services, kind, runs, loops.pages))
    loops.onStop(runs.drain)
  }
}

/** The command checks the tasks again, so each event is recorded once, even if several processes search. */
function openRound(
  services: Services,
  kind: TimeKind,
  runs: ReturnType<typeof openProjectRuns>,
  pages: Throttle,
) {
  const hasTurn = openTurn(services, kind.column)
  const record = async (projectId: string, ids: string[]) => {
    const startedAt = performance.now()
    const input = { projectId, ids }
    await services.run({ name: recordTimes.name, input, caller: { userId: serviceActor } })
    // Leaves the project time for other commands.
    await sleep(Math.max(pages.pauseMs, performance.now() - startedAt))
  }
  return () =>
    forEachPage(pages, firstTask, async (after) => {
      if (!(await hasTurn())) return
      const tasks = await findTasks(services.database.background, kind, after, pages.batchRows)
      const present = tasks.filter(({ isInProject }) => isInProject)
      // A later round finds the tasks of a busy project again.
      for (const [projectId, found] of Map.groupBy(present, (task) => task.projectId))
        if (!runs.has(projectId)) {
          const ids = found.map(({ id }) => id)
          await runs.start(projectId, () => record(projectId, ids))
        }
      return tasks.length < pages.batchRows ? undefined : tasks.at(-1)
    })
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
    select ${sql(column)} as at, project_id, id, exists (select from projects p where p.id = t.project_id) as is_in_project from tasks t
    where ${sql.unsafe(condition)} and ${sql(column)} <= now()
      and (${key}) > (${after.at}::text::timestamptz, ${after.projectId}::uuid, ${after.id}::uuid)
    order by ${key} limit ${rows}`
}
