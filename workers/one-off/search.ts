import { fillStart } from '../../modules/search/documents.ts'
import { missingExtensions } from '../../src/process/database.ts'
import type { Sql } from '../../src/postgres/database.ts'
import {
  type AdminContext,
  idOrNil,
  table,
  type CommandGroup,
  AdminError,
  withUnit,
} from './command-group.ts'

export const search: CommandGroup = {
  status: ['', 'shows the progress of the search index', status],
  refill: ['<project|all>', 'builds the search index of a project or of all projects again', refill],
}

async function status({ sql }: AdminContext): Promise<string> {
  const { percent, filling, behind, documents } = await indexState(sql)
  const missing = await missingExtensions(sql)
  return table([
    ['filled', `${percent} % of the tasks; ${withUnit(filling, 'project')} not complete`],
    ['behind', `${withUnit(behind, 'project')} with changes that are not indexed yet`],
    ['documents', `about ${documents}`],
    ...(missing.length > 0 ? [['missing extensions', missing.join(', ')]] : []),
  ])
}

/** Reads the cursors of all projects: for an operator, not for requests. */
async function indexState(sql: Sql) {
  const [row] = await sql<{ percent: number; filling: number; behind: number; documents: number }[]>`
    select coalesce(floor(100 * sum(case when c.project_id is not null and c.fill is null then s.last_number
        else coalesce((c.fill ->> 'number')::int4, 0) end) / nullif(sum(s.last_number), 0)), 100)::int4 as percent,
      (count(*) filter (where c.project_id is null or c.fill is not null))::int4 as filling,
      (count(*) filter (where (c.seq = s.version and c.event_id = s.last_event_id) is not true))::int4 as behind,
      (select greatest(reltuples, 0)::float8 from pg_class where oid = 'search_documents'::regclass) as documents
    from streams s join projects r on r.id = s.project_id left join search_cursors c on c.project_id = s.project_id`
  return row!
}

/** A fill begins without documents, so a search finds only what is filled again. */
async function refill({ sql }: AdminContext, which = ''): Promise<string> {
  const { count } = await sql`
    update search_cursors set fill = ${JSON.stringify(fillStart)}::text::jsonb
    where ${which} = 'all' or project_id = ${idOrNil(which)}`
  if (count === 0 && which !== 'all') throw new AdminError(`The project ${which} is not in the search index`)
  return `${withUnit(count, 'project')} will be filled again`
}
