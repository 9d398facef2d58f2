import { getTableName } from 'drizzle-orm'
import { model } from '../../modules/modules.ts'
import { deleteProject } from '../../modules/projects/commands.ts'
import { normalEmail } from '../../src/schema/text.ts'
import {
  type AdminContext,
  idOrNil,
  plain,
  table,
  type CommandGroup,
  AdminError,
  runCommand,
} from './command-group.ts'

const maxListed = 50

export const projects: CommandGroup = {
  list: ['[email]', `lists the ${maxListed} projects with the most events, of one owner or of all`, list],
  show: ['<id>', 'shows the owner, version and size of a project', show],
  delete: ['<id>', 'permanently deletes a project and everything in it, as if the owner did it', remove],
}

type Row = { id: string; name: string; version: number; email: string | null }

async function list({ sql }: AdminContext, email = ''): Promise<string> {
  const rows = await sql<Row[]>`
    select p.id, p.name, s.version::float8 as version, u.email from streams s
    join projects p on p.id = s.project_id left join users u on u.id = p.owner_id
    where ${email} = '' or u.email = ${normalEmail(email)} order by s.version desc, p.id limit ${maxListed}`
  const line = (row: Row) => [row.id, `version ${row.version}`, plain(row.email ?? '-'), plain(row.name)]
  return table(rows.map(line)) || 'No project'
}

type Project = Row & { ownerId: string; createdAt: string } & Record<string, unknown>

const counts = model.all.flatMap(({ table, plural, parent, isDeletedByWorker }) => {
  const rows = getTableName(table)
  const from = parent === 'task' ? `tasks t join ${rows} c on c.task_id = t.id` : `${rows} t`
  const isCounted = parent === 'task' || (parent === 'project' && !isDeletedByWorker)
  return isCounted ? `(select count(*)::int4 from ${from} where t.project_id = p.id) as ${plural}` : []
})

async function show({ sql }: AdminContext, id = ''): Promise<string> {
  const [project] = await sql<Project[]>`
    select p.id, p.name, p.owner_id, u.email, p.created_at, s.version::float8 as version,
      ${sql.unsafe(counts.join(', '))},
      (select count(*)::int4 from events where project_id = p.id) as events
    from projects p join streams s on s.project_id = p.id left join users u on u.id = p.owner_id
    where p.id = ${idOrNil(id)}`
  if (!project) throw new AdminError(`There is no project ${id}`)
  const { id: known, name, email, ownerId, createdAt, version, ...rest } = project
  const owner = `${plain(email ?? 'a deleted account')} (${ownerId})`
  const shown = { id: known, name: plain(name), owner, created: createdAt, version, ...rest }
  return table(Object.entries(shown).map(([label, value]) => [label, String(value)]))
}

async function remove(context: AdminContext, id = ''): Promise<string> {
  const [project] = await context.sql<{ name: string; ownerId: string }[]>`
    select name, owner_id from projects where id = ${idOrNil(id)}`
  if (!project) throw new AdminError(`There is no project ${id}`)
  const caller = { userId: project.ownerId }
  await runCommand(context, { name: deleteProject.name, input: { id }, caller })
  return `${plain(project.name)} (${id}) is deleted; a worker deletes its rows`
}
