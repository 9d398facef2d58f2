import { fillStart } from '../../modules/search/documents.ts'
import { missingExtensions } from '../../src/process/database.ts'
import { indexState } from '../search/progress.ts'
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

/** A fill begins without documents, so a search finds only what is filled again. */
async function refill({ sql }: AdminContext, which = ''): Promise<string> {
  const { count } = await sql`
    update search_cursors set fill = ${JSON.stringify(fillStart)}::text::jsonb
    where ${which} = 'all' or project_id = ${idOrNil(which)}`
  if (count === 0 && which !== 'all') throw new AdminError(`The project ${which} is not in the search index`)
  return `${withUnit(count, 'project')} will be filled again`
}
