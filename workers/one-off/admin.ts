import { randomBytes } from 'node:crypto'
import { Value } from '@sinclair/typebox/value'
import { getTableName } from 'drizzle-orm'
import type { OutboxRow } from '../../drizzle/rows.ts'
import { type Account, accountByEmail, replaceAccount } from '../../modules/accounts/queries.ts'
import { closeAccountJob, deleteAccount, insertAccount } from '../../modules/accounts/queries.ts'
import { RegisterBody } from '../../modules/accounts/sign-in.ts'
import { commands } from '../../modules/commands.ts'
import { model } from '../../modules/modules.ts'
import { deleteProject } from '../../modules/projects/commands.ts'
import { isId, nilId } from '../../src/id-format.ts'
import { openPasswords } from '../../src/identity/passwords.ts'
import { newId } from '../../src/ids.ts'
import { openLog } from '../../src/logger.ts'
import type { StoredRows } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { normalEmail } from '../../src/schema/input.ts'
import { validationError } from '../../src/schema/validation.ts'
import { openWritePath } from '../../src/services.ts'
import { react } from '../reactions.ts'
import { backups } from './backups.ts'
import { type AdminContext, AdminError, parse, plain, table } from './command-line.ts'

const maxProjects = 50
const maxWebhooks = 100
const maxJobs = 1_000

export const parseAdmin = (words: string[]) =>
  parse(
    {
      'users create <email> <name>': ['creates an account and prints its password', createAccount],
      'users reset-password <email>': ['sets and prints a new password; revokes all tokens', resetPassword],
      'users sign-out <email>': [
        'revokes all tokens of an account, in every process within a second',
        signOut,
      ],
      'users delete <email>': ['permanently deletes an account and the projects that it owns', removeAccount],
      'projects list [email]': [
        `lists the ${maxProjects} projects with the most events, of one owner or of all`,
        listProjects,
      ],
      'projects show <id>': ['shows the owner, version and size of a project', showProject],
      'projects delete <id>': ['permanently deletes a project and everything in it', removeProject],
      'jobs list': ['lists dead letters (jobs that failed too often) and counts pending jobs', listJobs],
      'jobs retry <id|all>': ['runs dead letters again', retryJobs],
      'jobs drop <id|all>': ['deletes dead letters', dropJobs],
      'webhooks list [project]': [
        `lists webhooks, of one project or of all, failing first; at most ${maxWebhooks}`,
        listWebhooks,
      ],
      ...backups,
    },
    words,
  )

async function createAccount({ sql }: AdminContext, email = '', name = ''): Promise<string> {
  const { password, passwordHash } = await newPassword()
  const body = { email, name, password }
  if (!Value.Check(RegisterBody, body))
    throw new AdminError(validationError(Value.Errors(RegisterBody, body)).message)
  const named = { id: newId(), name: name.trim(), email: normalEmail(email) }
  const account = { ...named, passwordHash, tokenVersion: 0, emailVerified: true }
  if (!(await insertAccount(sql, account))) throw new AdminError(`${account.email} already has an account`)
  return `${account.email} has the account ${account.id} and the password ${password}`
}

async function resetPassword({ sql }: AdminContext, email = ''): Promise<string> {
  const { password, passwordHash } = await newPassword()
  const address = await revokeTokens(sql, email, { passwordHash })
  return `${address} has the password ${password}; all tokens are revoked`
}

const signOut = async ({ sql }: AdminContext, email = ''): Promise<string> =>
  `All tokens of ${await revokeTokens(sql, email)} are revoked`

async function removeAccount({ sql }: AdminContext, email = ''): Promise<string> {
  const address = await change(sql, email, async (account) =>
    deleteAccount(sql, account, await closeAccountJob(sql, account)),
  )
  return `${address} is deleted; a worker deletes its projects and memberships`
}

const revokeTokens = (sql: Sql, email: string, fields: Partial<Account> = {}) =>
  change(sql, email, (before) =>
    replaceAccount(sql, before, { ...before, ...fields, tokenVersion: before.tokenVersion + 1 }),
  )

/** Reads the account and calls `write`, again if the account has changed before the write. Returns the address of the account. */
async function change(sql: Sql, email: string, write: (account: Account) => Promise<boolean>) {
  for (;;) {
    const account = await accountOf(sql, email)
    if (await write(account)) return plain(account.email)
  }
}

async function accountOf(sql: Sql, email: string): Promise<Account> {
  const account = await accountByEmail(sql, normalEmail(email))
  if (!account) throw new AdminError(`No account has the address ${email}`)
  return account
}

async function newPassword() {
  const password = randomBytes(15).toString('base64url')
  return { password, passwordHash: await openPasswords().hash(password, 'local') }
}

type Project = { id: string; name: string; ownerId: string; email: string | null; version: number }

async function listProjects({ sql }: AdminContext, email = ''): Promise<string> {
  const rows = await sql<Project[]>`
    select p.id, p.name, s.version::float8 as version, u.email from streams s
    join projects p on p.id = s.project_id left join users u on u.id = p.owner_id
    where ${email} = '' or u.email = ${normalEmail(email)} order by s.version desc, p.id limit ${maxProjects}`
  const line = (row: Project) => [row.id, `version ${row.version}`, plain(row.email ?? '-'), plain(row.name)]
  return table(rows.map(line)) || 'No project'
}

const counts = model.all.flatMap(({ table, plural, parent, isDeletedByWorker }) => {
  const rows = getTableName(table)
  const from = parent === 'task' ? `tasks t join ${rows} c on c.task_id = t.id` : `${rows} t`
  const isCounted = parent === 'task' || (parent === 'project' && !isDeletedByWorker)
  return isCounted ? `(select count(*)::int4 from ${from} where t.project_id = p.id) as ${plural}` : []
})

async function showProject({ sql }: AdminContext, given = ''): Promise<string> {
  const [project] = await sql<(Project & { createdAt: string })[]>`
    select p.id, p.name, p.owner_id, u.email, p.created_at, s.version::float8 as version,
      ${sql.unsafe(counts.join(', '))},
      (select count(*)::int4 from events where project_id = p.id) as events
    from projects p join streams s on s.project_id = p.id left join users u on u.id = p.owner_id
    where p.id = ${idOrNil(given)}`
  if (!project) throw noProject(given)
  const { id, name, email, ownerId, createdAt, version, ...rest } = project
  const owner = `${plain(email ?? 'a deleted account')} (${ownerId})`
  const shown = { id, name: plain(name), owner, created: createdAt, version, ...rest }
  return table(Object.entries(shown).map(([label, value]) => [label, String(value)]))
}

async function removeProject({ config, sql }: AdminContext, id = ''): Promise<string> {
  const [project] = await sql<Project[]>`
    select name, owner_id from projects where id = ${idOrNil(id)}`
  if (!project) throw noProject(id)
  const writePath = openWritePath(config, openLog('silent'), { commands, react })
  const caller = { userId: project.ownerId }
  await writePath.run({ name: deleteProject.name, input: { id }, caller }).finally(() => writePath.close())
  return `${plain(project.name)} (${id}) is deleted; a worker deletes its rows`
}

const noProject = (id: string) => new AdminError(`There is no project ${id}`)

async function listJobs({ sql }: AdminContext): Promise<string> {
  const parked = await sql<OutboxRow[]>`
    select id, name, project_id, attempts, error, parked_at from outbox
    where parked_at is not null order by parked_at, id limit ${maxJobs}`
  const [count] = await sql<{ parked: number; open: number }[]>`
    select count(parked_at)::int4 as parked, (count(*) - count(parked_at))::int4 as open from outbox`
  const line = ({ id, name, projectId, attempts, parkedAt, error }: OutboxRow): string =>
    `${id}  ${name}  project ${projectId ?? '-'}  ${attempts} attempts  since ${parkedAt}\n  ${error ?? ''}`
  return [
    ...parked.map(line),
    `${withUnit(count!.parked, 'dead letter')}, ${withUnit(count!.open, 'job')} waiting or running`,
  ].join('\n')
}

async function retryJobs({ sql }: AdminContext, which = ''): Promise<string> {
  const { count } = await sql`
    update outbox set attempts = 0, error = null, parked_at = null where ${isChosen(sql, which)}`
  return `${changedJobs(count, which)} will be retried`
}

async function dropJobs({ sql }: AdminContext, which = ''): Promise<string> {
  const { count } = await sql`delete from outbox where ${isChosen(sql, which)}`
  return `${changedJobs(count, which)} dropped`
}

const isChosen = (sql: Sql, which: string) =>
  sql`parked_at is not null and (${which === 'all'} or id::text = ${which.toLowerCase()})`

function changedJobs(count: number, which: string): string {
  if (count === 0 && which !== 'all') throw new AdminError(`No dead letter has the id ${which}`)
  return withUnit(count, 'job')
}

type Webhook = StoredRows['webhook'] & { behind: number }

async function listWebhooks({ sql }: AdminContext, projectId = ''): Promise<string> {
  if (projectId && !isId(projectId)) throw new AdminError(`"${plain(projectId)}" is not a project id`)
  const rows = await sql<Webhook[]>`
    select w.id, w.project_id, w.url, (s.version - w.cursor)::float8 as behind, w.failures, w.failing_since,
      w.disabled_at, w.disabled_reason
    from webhooks w join streams s on s.project_id = w.project_id
    where ${projectId} = '' or w.project_id::text = ${projectId}
    order by w.disabled_at is null desc, w.failures desc, w.id limit ${maxWebhooks}`
  // The list shows only the origin of the URL, because the path may contain a secret of the receiver.
  const lines = rows.map((row) => [row.id, `project ${row.projectId}`, new URL(row.url).origin, stateOf(row)])
  return table(lines) || 'No webhook'
}

function stateOf({ behind, failures, failingSince, disabledAt, disabledReason }: Webhook): string {
  const reason = disabledReason ? `: ${plain(disabledReason)}` : ''
  const enabled = failures > 0 ? `failed ${failures} times since ${failingSince}` : 'enabled'
  return `${disabledAt ? `disabled since ${disabledAt}${reason}` : enabled}, ${behind} events behind`
}

const withUnit = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** Replaces a text that is not an id by the nil id, which no row has. */
const idOrNil = (text: string): string => (isId(text) ? text : nilId)
