import { setTimeout as sleep } from 'node:timers/promises'
import { recordTimes } from '../../modules/tasks/commands.ts'
import { nilId } from '../../src/id-format.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { throttle } from '../../src/waits.ts'
import { workerActor } from '../cascade.ts'
import { reasonOf } from '../reason.ts'
import type { Throttle } from '../throttle.ts'

/** The maximum number of projects in which commands run at the same time. */
const maxProjects = 100
/** The maximum number of tasks of one project that wait for a command. A later round finds further tasks again. */
const maxWaiting = 5_000

/** Runs commands for tasks whose time has come, one after another in each project. */
export class Recorder {
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
export interface Kind {
  column: string
  condition: string
}

export const kinds: Kind[] = [
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
export function findTasks(sql: Sql, { column, condition }: Kind, after: typeof firstTask, rows: number) {
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
