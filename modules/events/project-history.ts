import { type Static, Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { canonicalId, isIdInAnyCase } from '../../src/id-format.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { requireVisible, type VisibleProject } from '../../src/reads/lookups.ts'
import { Cursor, type PageRows, Limit, pageOf, readCursor, readLimit } from '../../src/reads/pages.ts'
import { type OldestSeq, openOldestSeq, seqAt } from '../../src/reads/retention.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { notFound } from '../../src/responses/errors.ts'
import { digestEtag, pathAndQuery } from '../../src/responses/reply.ts'
import { checked, Input } from '../../src/schema/input.ts'
import { Instant, isCount, parseInstant } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { model } from '../modules.ts'
import { EventTypes } from './parameters.ts'
import { scanCost, maxScannedEvents, eventColumns, isFullPage, readEvents, withPeople } from './rows.ts'
import { eventView, type ReadEvent } from './schema.ts'

export const retentionNote =
  'If the service deletes old events, the history begins with the oldest remaining event.'
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
  const { database, findRole, oldestSeq, place, serve, charge } = services
  const logTag = openLogTag(services)
  return {
    about,
    input: ProjectHistoryQuery,
    view: eventView,
    isList: true,
    operation: { id: 'listProjectHistory', tag: 'History' },
    errors: [notFound('Project')],
    async read({ request, caller, query, params: { id } }) {
      const filter = readHistoryFilter(query)
      const project = await requireVisible(findRole, caller, id)
      const etag = etagAt(project, `.${project.renaming}${await logTag([project.projectId])}`)
      const { entity, entityId, actorId, types } = filter
      const isFiltered = entity || entityId || actorId || types
      const build = async () => {
        const range = await rangeOf(database.reads, project, filter)
        const cost = isFiltered ? scanCost(range.last + 1 - range.lowest) : 1
        const demand = { projects: [project], upTo: range.last }
        const read = (sql: Sql) => {
          const own = place(sql, demand)
          return readHistoryPage(own, own === sql ? oldestSeq : openOldestSeq(own), project, filter, range)
        }
        const found = range.last < range.lowest ? { rows: [] } : await charge(caller, cost, read)
        return pageOf(request, found, eventView.of, ({ seq }) => [String(seq)], etag)
      }
      return serve(request, pathAndQuery(request), etag, build, project.version)
    },
  }
}

/** Returns the part of an ETag that depends on the shown projects and, if events expire, on their oldest events. */
export const openLogTag =
  ({ config, oldestSeq }: Services) =>
  async (projectIds: string[]): Promise<string> => {
    if (config.historyDays === 0 && projectIds.length === 1) return ''
    const oldest = config.historyDays > 0 ? await Promise.all(projectIds.map(oldestSeq)) : []
    return `.${digestEtag([...projectIds, ...oldest].join()).slice(1, -1)}`
  }

type HistoryFilter = ReturnType<typeof readHistoryFilter>

function readHistoryFilter({
  entity,
  type,
  actor,
  from,
  to,
  limit,
  cursor,
}: Static<typeof ProjectHistoryQuery>) {
  const isName = entity !== undefined && isEntity(entity)
  const [before = null] = cursor === undefined ? [] : readCursor(cursor, [isCount])
  return {
    before: before === null ? null : Number(before),
    limit: readLimit(limit, 50, 200),
    entity: isName ? entity : null,
    entityId: entity === undefined || isName ? null : canonicalId(entity),
    actorId: actor === undefined ? null : canonicalId(actor),
    types: type?.split(',') ?? null,
    from: from === undefined ? null : parseInstant(from),
    to: to === undefined ? null : parseInstant(to),
  }
}

/** The seqs that a page scans, and the seq after which the history begins. */
interface HistoryRange {
  last: number
  lowest: number
  after: number
}

async function rangeOf(
  sql: Sql,
  project: VisibleProject,
  { before, from, to }: HistoryFilter,
): Promise<HistoryRange> {
  const { version } = project
  const [upTo, after] = await Promise.all([
    to === null ? version : seqAt(sql, project, to),
    from === null ? 0 : seqAt(sql, project, from, '<'),
  ])
  const last = Math.min(version, upTo, (before ?? Infinity) - 1)
  return { last, after, lowest: Math.max(after + 1, last - maxScannedEvents + 1) }
}

async function readHistoryPage(
  sql: Sql,
  oldestSeq: OldestSeq,
  { projectId }: VisibleProject,
  { entity, entityId, actorId, types, limit }: HistoryFilter,
  { last, lowest, after }: HistoryRange,
): Promise<PageRows<ReadEvent, { seq: number }>> {
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
  const isOldest = async () => downTo <= ((await oldestSeq(projectId)) ?? 1)
  const [shown, isEnd] = await Promise.all([withPeople(sql, rows), downTo <= after + 1 || isOldest()])
  return isEnd ? { rows: shown } : { rows: shown, last: { seq: downTo } }
}
