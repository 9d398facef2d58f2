import type { TaskRow } from '../../drizzle/rows.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import type { Query } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { hasNoReferences, visibleColumns, visibleEventId } from '../../src/log/rows-at.ts'
import { batched } from '../../src/postgres/batch.ts'
import { columnList } from '../../src/postgres/columns.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { readInTwoSteps } from '../../src/postgres/two-steps.ts'
import { byOrdinal } from '../../src/postgres/row-order.ts'
import { hasReferences } from '../../src/model/references.ts'
import { type LookUp, openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import type { Versioned, Versions } from '../../src/reads/versions.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { etagOf } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { taskSnapshotParameters, getTaskAsOf, projectIdNeedsAsOf } from './as-of.ts'
import { taskView } from './schema.ts'
import { claimTag, claimTagOf } from './claim.ts'
import { showClaims } from '../claims/shown.ts'
import { nameTagOf } from '../../src/reads/names.ts'
import { nowMs } from '../../src/ids.ts'

interface SeenTask extends Versioned {
  eventId: string
  /** The end of the task's claim in ms, and the part of the ETag that changes with the holder's name. */
  claim?: string
}

export const openSeenTasks = (sql: Sql, versions: Versions) =>
  openLookUp<SeenTask>(sql, versions, {
    joins: sql`join tasks t on t.id = q.id`,
    projectId: sql`t.project_id`,
    columns: sql`${visibleEventId(sql, 'task', 't')}, case when t.claimed_by is not null then
      (extract(epoch from t.claimed_until) * 1000)::bigint || ${nameTagOf(sql, sql`t.claimed_by`)} end`,
    plainColumns: sql`case when t.claimed_by is null and ${hasNoReferences(sql, 'task', 't')} then t.event_id end`,
    // Only a claimed task shows the name of an account, so other ETags do not depend on `renaming`.
    make: ({ renaming, ...seen }, [eventId, claim]) =>
      claim ? { ...seen, renaming, eventId: eventId!, claim } : { ...seen, eventId: eventId! },
  })

function tagOfClaim({ claim }: SeenTask): string {
  const [, until, nameTag] = /^(\d+)(.*)$/.exec(claim ?? '') ?? []
  return Number(until) > nowMs() ? claimTagOf(Number(until), nameTag!) : ''
}

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, findPerson, snapshots, serve } = services
  const findTask = openFindTask(database.reads)
  return {
    about: 'Returns the task without its subtasks and comments, which have their own lists.',
    input: Input(taskSnapshotParameters()),
    errors: [projectIdNeedsAsOf(), ...snapshots.errors, notFound('Task')],
    view: taskView,
    async read(reading) {
      const { request, caller, params, query } = reading
      if (query.asOf !== undefined || query.projectId !== undefined) return getTaskAsOf(services, reading)
      const { id = '' } = params
      const visible = await requireVisible(seeTask, caller, id, 'Task')
      const build = async () => {
        const task = await findTask(caller, id)
        if (!task) throw notFound('Task')
        const holder = (await showClaims(findPerson, [task])).holderOf?.(task)
        return {
          etag: etagOf(task, claimTag(task, holder)),
          body: JSON.stringify(taskView.of(task, holder)),
          link: null,
        }
      }
      const etag = etagOf(visible, visible.claim && tagOfClaim(visible))
      return serve(request, id, etag, build, visible.version)
    },
  }
}

/** Reads tasks for several requests in one query, and checks visibility again, because a task may have just moved. */
function openFindTask(sql: Sql) {
  const read = async (pairs: Pair[], columns: SqlPart) => {
    const rows = await sql<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${columns} from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id
      cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
    return byOrdinal(pairs.length, rows)
  }
  const [plain, shown] = [columnList(sql, tasks, 't'), visibleColumns(sql, 'task', 't')]
  const readPlain = async (pairs: Pair[]) => {
    const found = await read(pairs, plain)
    return found.map((task) => (task && hasReferences('task', task) ? null : task))
  }
  const find = batched({ keys: 500, slots: 2 }, (pairs: Pair[]) =>
    readInTwoSteps(pairs, readPlain, (some) => read(some, shown)),
  )
  return async (caller: Caller, id: string) => {
    const task = await find({ userId: caller.userId, id })
    return task && isWithinToken(caller, task.projectId) ? task : undefined
  }
}
