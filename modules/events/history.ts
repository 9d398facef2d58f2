import { type Static, Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { canonicalId, isId, isIdInAnyCase, maxId } from '../../src/id-format.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import {
  Cursor,
  type PageRows,
  Limit,
  pageOf,
  readCursor,
  readLimit,
  readIdPage,
} from '../../src/reads/pages.ts'
import { openOldestSeq, seqAt } from '../../src/reads/retention.ts'
import { notFound } from '../../src/responses/errors.ts'
import { respondByDigest } from '../../src/responses/reply.ts'
import { checked, Input, Instant, isCount, parseInstant } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { model } from '../modules.ts'
import { EventTypes, eventView, type ReadEvent, shownEvent } from './schema.ts'
import { scanCost, maxScannedEvents, eventColumns, isFullPage, readEvents, withPeople } from './rows.ts'
import { view } from '../../src/model/view.ts'
import { Id } from '../../src/schema/response.ts'

const retentionNote = 'If the service deletes old events, the history begins with the oldest remaining event.'
const about = `Returns events, newest first, with the same fields as in the feed and the current names of people. \`from\` and \`to\` are inclusive. With a filter, a page scans at most ${maxScannedEvents} events: a page may show fewer events than \`limit\` although the Link header leads to another page. ${retentionNote}`

const isEntity = (text: string): text is Entity => (model.names as string[]).includes(text)
const isEntityOrId = (value: unknown) => isEntity(value as string) || isIdInAnyCase(value)

const Filter = (check: typeof isIdInAnyCase, description: string, example: string) =>
  Type.Optional(checked<string>(check, { type: 'string', description, examples: [example] }))

const ProjectHistoryQuery = Input({
  entity: Filter(
    isEntityOrId,
    `An entity or an id: ${model.names.join(', ')}, or the id of the changed row`,
    'task',
  ),
  actor: Filter(
    isIdInAnyCase,
    'The id of the user who made the change',
    '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b',
  ),
  type: EventTypes(),
  from: Type.Optional(Instant()),
  to: Type.Optional(Instant()),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

export function projectHistory(services: Services): Query {
  return {
    about,
    input: ProjectHistoryQuery,
    view: eventView,
    isList: true,
    operation: { id: 'listProjectHistory', tag: 'History' },
    errors: [notFound('Project')],
    async read({ request, caller, query, params: { id } }) {
      const filter = readHistoryFilter(query)
      const project = await requireVisible(services.findRole, caller, id)
      const found = await readHistory(services, caller, project, filter)
      const page = pageOf(request, found, eventView.of, ({ seq }) => [String(seq)])
      return respondByDigest(request, page, project.version)
    },
  }
}

function readHistoryFilter(query: Static<typeof ProjectHistoryQuery>) {
  const { entity = '', type, actor, from, to, limit, cursor } = query
  const [before = null] = cursor === undefined ? [] : readCursor(cursor, [isCount])
  return {
    before: before === null ? Infinity : Number(before),
    limit: readLimit(limit, 50, 200),
    entity: isEntity(entity) ? entity : null,
    entityId: isEntity(entity) ? null : canonicalId(entity) || null,
    actorId: actor === undefined ? null : canonicalId(actor),
    types: type?.split(',') ?? null,
    from: from === undefined ? null : parseInstant(from),
    to: to === undefined ? null : parseInstant(to),
  }
}

async function readHistory(
  { charge, database, oldestSeq, place }: Services,
  caller: Caller,
  project: VisibleProject,
  { before, limit, entity, entityId, actorId, types, from, to }: ReturnType<typeof readHistoryFilter>,
): Promise<PageRows<ReadEvent, { seq: number }>> {
  const { projectId, version } = project
  const [upTo, after] = await Promise.all([
    to === null ? version : seqAt(database.reads, project, to),
    from === null ? 0 : seqAt(database.reads, project, from, '<'),
  ])
  const last = Math.min(version, upTo, before - 1)
  const lowest = Math.max(after + 1, last - maxScannedEvents + 1)
  if (last < lowest) return { rows: [] }
  const cost = entity || entityId || actorId || types ? scanCost(last + 1 - lowest) : 1
  return charge(caller, cost, async (pool) => {
    const sql = place(pool, { projects: [project], upTo: last })
    // All filters share one statement, because each connection caches a plan for each statement.
    const rows = await readEvents(
      sql,
      sql`select ${eventColumns(sql)} from events e
      where e.project_id = ${projectId} and e.seq <= ${last}::bigint and e.seq >= ${lowest}::bigint
        and (${types}::text[] is null or e.type = any(${types}::text[]))
        and (${entity}::text is null or e.entity = ${entity}::text)
        and (${entityId}::uuid is null or e.entity_id = ${entityId}::uuid)
        and (${actorId}::uuid is null or e.actor_id = ${actorId}::uuid)
      order by e.seq desc limit ${limit}`,
    )
    const downTo = isFullPage(rows, limit) ? rows.at(-1)!.seq : lowest
    const oldest = sql === pool ? oldestSeq : openOldestSeq(sql)
    const isOldest = async () => downTo <= ((await oldest(projectId)) ?? 1)
    const [shown, isEnd] = await Promise.all([withPeople(sql, rows), downTo <= after + 1 || isOldest()])
    return isEnd ? { rows: shown } : { rows: shown, last: { seq: downTo } }
  })
}

const aboutTask = `Returns the events of the task, its subtasks and comments, newest first, also from earlier projects of the task and after its deletion. Requires the right to read the task's current or last project. Leaves out events in projects that the caller may not read, so a page may show fewer events than \`limit\` although the Link header leads to another page. ${retentionNote}`

const taskEventView = view<ReadEvent>({
  name: 'TaskEvent',
  schema: Type.Object({
    projectId: Id('The project in which the event has this seq'),
    ...eventView.schema.properties,
  }),
  of: (event) => ({ projectId: event.projectId, ...shownEvent(event) }),
})

export function taskHistory({ database: { reads: sql }, findRole, place }: Services): Query {
  return {
    about: aboutTask,
    input: Input({ limit: Limit(50, 200), cursor: Cursor() }),
    view: taskEventView,
    isList: true,
    operation: { id: 'listTaskHistory', tag: 'History' },
    errors: [notFound('Task')],
    async read({ request, caller, query, params: { id = '' } }) {
      const { cursor, limit } = readIdPage(query, 50, 200)
      const project = await requireVisible(findRole, caller, await lastProject(sql, id), 'Task')
      // Ids can be compared between projects, unlike seqs. Events in earlier projects are older than this version.
      const rows = await readEvents(
        place(sql, { projects: [project] }),
        sql`select ${eventColumns(sql)} from events e where e.task_id = ${id} and e.id < ${cursor ?? maxId}
          order by e.id desc limit ${limit + 1}`,
      )
      const scanned = rows.slice(0, limit)
      const projects = [...new Set(scanned.map(({ projectId }) => projectId))]
      const roles = await Promise.all(projects.map((projectId) => findRole(caller, projectId)))
      const visible = new Set(roles.map((role) => role?.projectId))
      const shown = scanned.filter(({ projectId }) => visible.has(projectId))
      const last = isFullPage(rows, limit + 1) ? scanned.at(-1)! : undefined
      const found = { rows: await withPeople(sql, shown), last }
      const page = pageOf(request, found, taskEventView.of, ({ id }) => [id])
      return respondByDigest(request, page, project.version)
    },
  }
}

/** Returns the current project of a task, or the last project of a deleted task; undefined for an unknown task. */
async function lastProject(sql: Sql, id: string): Promise<string | undefined> {
  if (!isId(id)) return undefined
  const [row] = await sql<{ projectId: string | null }[]>`
    select coalesce((select project_id from tasks where id = ${id}),
      (select case when type <> 'task.moved_out' then project_id end
        from events where task_id = ${id} order by id desc limit 1)) as project_id`
  return row?.projectId ?? undefined
}
