import type { TaskRow } from '../../drizzle/rows.ts'
import { tasks } from '../../drizzle/schema/tasks.ts'
import type { Query } from '../../src/commands/query.ts'
import { type Caller, isWithinToken } from '../../src/identity/rights.ts'
import { nowMs } from '../../src/ids.ts'
import { hasNoReferences, visibleColumns, visibleEventId } from '../../src/log/rows-at.ts'
import { type JoinedRows, openShownRows } from '../../src/log/shown-rows.ts'
import { grouped, groupOfCheapReads } from '../../src/postgres/grouped.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { byOrdinal, readInTwoSteps } from '../../src/postgres/row-order.ts'
import { type LookUp, openLookUp, requireVisible } from '../../src/reads/lookups.ts'
import { nameTagOf } from '../../src/reads/names.ts'
import type { Place } from '../../src/reads/standbys.ts'
import type { Versioned, Versions } from '../../src/reads/versions.ts'
import { type Pair, pairsOf, visibleProject } from '../../src/reads/visible.ts'
import { notFound } from '../../src/responses/errors.ts'
import { etagOf } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { taskSnapshotParameters, getTaskAsOf, projectIdNeedsAsOf } from './as-of.ts'
import { claimTag, claimTagOf } from './claim.ts'
import { taskView } from './schema.ts'
import { showClaims } from './shown-claims.ts'

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
    hasNames: true,
    // Only a claimed task shows the name of an account, so other ETags do not depend on `renaming`.
    make: ({ projectId, version, lastEventId, renaming }, [eventId = '', claim]) =>
      claim
        ? { projectId, version, lastEventId, renaming, eventId, claim }
        : { projectId, version, lastEventId, eventId },
  })

function tagOfClaim({ claim }: SeenTask): string {
  const [, until, nameTag] = /^(\d+)(.*)$/.exec(claim ?? '') ?? []
  return Number(until) > nowMs() ? claimTagOf(Number(until), nameTag!) : ''
}

export function getTask(services: Services, seeTask: LookUp<SeenTask>): Query {
  const { database, findPerson, place, snapshots, serve } = services
  const findTask = openFindTask(database.reads, place)
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
        const task = await findTask(caller, id, visible)
        if (!task) throw notFound('Task')
        if ('shown' in task) return { etag: etagOf(task), body: JSON.stringify(task.shown), link: null }
        const { row } = task
        const holder = (await showClaims(findPerson, [row])).holderOf?.(row)
        return {
          etag: etagOf(row, claimTag(row, holder)),
          body: JSON.stringify(taskView.of(row, holder)),
          link: null,
        }
      }
      const etag = etagOf(visible, visible.claim && tagOfClaim(visible))
      return serve(request, id, etag, build, visible.version)
    },
  }
}

/** A task as its view shows it, or the row of a task of which the view computes fields. */
type FoundTask = { shown: TaskRow; eventId: string } | { row: TaskRow }

const shownTasks = openShownRows(taskView, tasks, 't', `q.n || ' ' || t.event_id`)

type SeenPair = Pair & { seen: SeenTask }

/** Reads tasks for several requests in one query, and checks visibility again, because a task may have just moved. */
function openFindTask(sql: Sql, place: Place) {
  const from = (pairs: Pair[], isWanted: SqlPart) => sql`
    from ${pairsOf(sql, pairs)} join tasks t on t.id = q.id and ${isWanted}
    cross join lateral ${visibleProject(sql, sql`t.project_id`, sql`q.user_id`)} p`
  const placed = (pairs: SeenPair[]) => place(sql, { projects: pairs.map(({ seen }) => seen) })
  const readShown = async (pairs: SeenPair[]) => {
    const rows = sql`select ${shownTasks.columns(sql)} ${from(pairs, shownTasks.isPlain(sql))}`
    const [joined] = await placed(pairs)<JoinedRows[]>`${shownTasks.join(sql, rows)}`
    const { keys, rows: shown } = shownTasks.read(joined!) ?? { keys: [], rows: [] }
    const found = pairs.map((): FoundTask | null => null)
    for (const [k, key] of keys.entries()) {
      const [n, eventId] = key.split(' ')
      found[Number(n) - 1] = { shown: shown[k]!, eventId: eventId! }
    }
    return found
  }
  const columns = visibleColumns(sql, 'task', 't')
  const readRows = async (pairs: SeenPair[]) => {
    const rows = await placed(pairs)<(TaskRow & { n: number })[]>`
      select q.n::int4 as n, ${columns} ${from(pairs, sql`true`)}`
    return byOrdinal(pairs.length, rows).map((row) => row && { row })
  }
  const find = grouped(groupOfCheapReads, (pairs: SeenPair[]) =>
    readInTwoSteps<SeenPair, FoundTask>(pairs, readShown, readRows),
  )
  return async (caller: Caller, id: string, seen: SeenTask) => {
    const task = await find({ userId: caller.userId, id, seen })
    return task && isWithinToken(caller, ('row' in task ? task.row : task.shown).projectId) ? task : undefined
  }
}
