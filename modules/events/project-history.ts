import { type Static, Type } from '@sinclair/typebox'
import type { Query } from '../../src/commands/query.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import type { Entity } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { OldestKept } from '../../src/reads/kept.ts'
import { requireSeen, type Seen } from '../../src/reads/lookups.ts'
import { Cursor, type Cut, Limit, pageOf, readCursor, readLimit } from '../../src/reads/pages.ts'
import { seqAt } from '../../src/reads/seq-at.ts'
import { etagAt } from '../../src/reads/versions.ts'
import { checked, Input } from '../../src/schema/input.ts'
import { Instant, isCount, parseInstant } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { digestEtag, pathAndQuery } from '../../src/responses/reply.ts'
import { notFound } from '../../src/responses/errors.ts'
import { costOfLooking, lookedAt } from './pages.ts'
import { EventTypes } from './parameters.ts'
import { eventColumns, isCutAt, readEvents, withPeople } from './rows.ts'
import { eventView } from './schema.ts'
import type { ReadEvent } from './views.ts'
import { model } from '../modules.ts'

export const begins = 'Where events are kept for some days only, it begins with the oldest that is there.'
const about = `Newest first, in the shape of the feed's events; names are those of now. \`from\` and \`to\` are part of what is shown. Filtered, a page looks at ${lookedAt} events at most: it may show fewer than \`limit\`, and the Link header leads on. ${begins}`

const isEntity = (text: string): text is Entity => (model.names as string[]).includes(text)
const isSomeId = (value: unknown) => typeof value === 'string' && isId(canonicalId(value))
const isEntityOrId = (value: unknown) => isEntity(value as string) || isSomeId(value)

const Only = (check: typeof isSomeId, description: string, example: string) =>
  Type.Optional(checked<string>(check, { type: 'string', description, examples: [example] }))

const ProjectHistoryQuery = Input({
  entity: Only(
    isEntityOrId,
    `${model.names.join(', ')}, or the id of one: what the events are about`,
    'task',
  ),
  actor: Only(isSomeId, 'The id of the user who did it', '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'),
  type: EventTypes(),
  from: Type.Optional(Instant()),
  to: Type.Optional(Instant()),
  limit: Limit(50, 200),
  cursor: Cursor(),
})

export function projectHistory(services: Services): Query {
  const { findRole, oldestKept, serve, spend } = services
  const tagOf = openTag(services)
  return {
    about,
    input: ProjectHistoryQuery,
    view: eventView,
    isList: true,
    operation: { id: 'listProjectHistory', tag: 'History' },
    errors: [notFound('Project')],
    async read({ request, caller, query, params: { id } }) {
      const wanted = readWanted(query)
      const seen = await requireSeen(findRole, caller, id)
      const etag = etagAt(seen, `.${seen.renaming}${await tagOf([seen.projectId])}`)
      const { entity, entityId, actorId, types } = wanted
      const cost = entity || entityId || actorId || types ? costOfLooking(seen.version) : 1
      const build = async () => {
        const found = await spend(caller, cost, (sql) => eventsBack(sql, oldestKept, seen, wanted))
        return pageOf(request, found, eventView.of, ({ seq }) => [String(seq)], etag)
      }
      return serve(request, pathAndQuery(request), etag, build, seen.version)
    },
  }
}

/** Adds to an ETag whose logs are shown, and where they begin: nothing for one log that is kept whole. */
export const openTag =
  ({ config, oldestKept }: Services) =>
  async (projectIds: string[]): Promise<string> => {
    if (config.historyDays === 0 && projectIds.length === 1) return ''
    const oldest = config.historyDays > 0 ? await Promise.all(projectIds.map(oldestKept)) : []
    return `.${digestEtag([...projectIds, ...oldest].join()).slice(1, -1)}`
  }

type Wanted = ReturnType<typeof readWanted>

/** @throws HttpError 400 */
function readWanted({ entity, type, actor, from, to, limit, cursor }: Static<typeof ProjectHistoryQuery>) {
  const isKind = entity !== undefined && isEntity(entity)
  const [before = null] = cursor === undefined ? [] : readCursor(cursor, [isCount])
  return {
    before: before === null ? null : Number(before),
    limit: readLimit(limit, 50, 200),
    entity: isKind ? entity : null,
    entityId: entity === undefined || isKind ? null : canonicalId(entity),
    actorId: actor === undefined ? null : canonicalId(actor),
    types: type?.split(',') ?? null,
    from: from === undefined ? null : parseInstant(from),
    to: to === undefined ? null : parseInstant(to),
  }
}

/** As seqs have no gaps, the number of events that a page reads through is known before. */
async function eventsBack(
  sql: Sql,
  oldestKept: OldestKept,
  seen: Seen,
  { before, from, to, entity, entityId, actorId, types, limit }: Wanted,
): Promise<Cut<ReadEvent, { seq: number }>> {
  const { projectId, version } = seen
  const [upTo, after] = await Promise.all([
    to === null ? version : seqAt(sql, seen, to),
    from === null ? 0 : seqAt(sql, seen, from, '<'),
  ])
  const last = Math.min(version, upTo, (before ?? Infinity) - 1)
  const lowest = Math.max(after + 1, last - lookedAt + 1)
  if (last < lowest) return { shown: [] }
  // One text for all filters: each further text would be another plan on each connection.
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
  const downTo = isCutAt(rows, limit) ? rows.at(-1)!.seq : lowest
  const isOldest = async () => downTo <= ((await oldestKept(projectId)) ?? 1)
  const [shown, isEnd] = await Promise.all([withPeople(sql, rows), downTo <= after + 1 || isOldest()])
  return isEnd ? { shown } : { shown, last: { seq: downTo } }
}
