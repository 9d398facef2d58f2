import { randomBytes } from 'node:crypto'
import { Value } from '@sinclair/typebox/value'
import {
  type Account,
  accountByEmail,
  closeAccountJob,
  deleteAccount,
  insertAccount,
  replaceAccount,
} from '../../modules/accounts/queries.ts'
import { RegisterBody } from '../../modules/accounts/sign-in.ts'
import { newId } from '../../src/ids.ts'
import { openPasswords } from '../../src/identity/passwords.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { caseless, normalEmail } from '../../src/schema/text.ts'
import { validationError } from '../../src/schema/validation.ts'
import { type AdminContext, plain, table, type CommandGroup, AdminError } from './command-group.ts'

const maxListed = 100

export const users: CommandGroup = {
  list: [
    '[text]',
    `lists at most ${maxListed} accounts, all or those whose name or email contains the text`,
    list,
  ],
  create: ['<email> <name>', 'creates an account and prints its password', create],
  'reset-password': ['<email>', 'sets and prints a new password; revokes all tokens', reset],
  verify: ['<email>', 'marks the address as verified', verify],
  'sign-out': ['<email>', 'revokes all tokens of an account, in every process within a second', signOut],
  delete: ['<email>', 'permanently deletes an account and the projects that it owns', remove],
}

async function list({ sql }: AdminContext, text = ''): Promise<string> {
  const rows = await sql<
    { id: string; email: string; name: string; projectId: string | null; projects: number }[]
  >`
    select id, email, name, project_id, (select count(*)::int4 from projects p where p.owner_id = u.id) as projects
    from users u where position(${caseless(text)} in lower(normalize(email || ' ' || name))) > 0
    order by id limit ${maxListed}`
  const lines = rows.map(({ id, email, name, projectId, projects }) => {
    return [id, plain(email), plain(name), projectId ? `service account of ${projectId}` : `owns ${projects}`]
  })
  return table(lines) || 'No account'
}

async function create({ sql }: AdminContext, email = '', name = ''): Promise<string> {
  const password = newPassword()
  const body = { email, name, password }
  if (!Value.Check(RegisterBody, body))
    throw new AdminError(validationError(Value.Errors(RegisterBody, body)).message)
  const passwordHash = await hashPassword(password)
  const named = { id: newId(), name: name.trim(), email: normalEmail(email) }
  const account = { ...named, passwordHash, tokenVersion: 0, emailVerified: true }
  if (!(await insertAccount(sql, account))) throw new AdminError(`${account.email} already has an account`)
  return `${account.email} has the account ${account.id} and the password ${password}`
}

async function reset({ sql }: AdminContext, email = ''): Promise<string> {
  const password = newPassword()
  const passwordHash = await hashPassword(password)
  const { email: address } = await change(sql, email, (before) =>
    replaceAccount(sql, before, { ...before, passwordHash, tokenVersion: before.tokenVersion + 1 }),
  )
  return `${plain(address)} has the password ${password}; all tokens are revoked`
}

async function verify({ sql }: AdminContext, email = ''): Promise<string> {
  const { id, email: address } = await find(sql, email)
  await sql`update users set email_verified_at = coalesce(email_verified_at, now()) where id = ${id}`
  return `${plain(address)} is verified`
}

async function signOut({ sql }: AdminContext, email = ''): Promise<string> {
  const { email: address } = await change(sql, email, (before) =>
    replaceAccount(sql, before, { ...before, tokenVersion: before.tokenVersion + 1 }),
  )
  return `All tokens of ${plain(address)} are revoked`
}

async function remove({ sql }: AdminContext, email = ''): Promise<string> {
  const account = await change(sql, email, async (account) =>
    deleteAccount(sql, account, await closeAccountJob(sql, account)),
  )
  return `${plain(account.email)} is deleted; a worker deletes its projects and memberships`
}

/** Reads the account and calls `write`, and repeats this if the account has changed before the write. */
async function change(sql: Sql, email: string, write: (account: Account) => Promise<boolean>) {
  for (;;) {
    const account = await find(sql, email)
    if (await write(account)) return account
  }
}

async function find(sql: Sql, email: string) {
  const account = await accountByEmail(sql, normalEmail(email))
  if (!account) throw new AdminError(`No account has the address ${email}`)
  return account
}

const hashPassword = (password: string) => openPasswords().hash(password, 'local')

const newPassword = () => randomBytes(15).toString('base64url')
