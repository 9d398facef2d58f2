import { removeMember } from '../modules/members/commands.ts'
import { deleteProject } from '../modules/projects/commands.ts'
import type { Run } from '../src/commands/router.ts'
import type { Sql } from '../src/postgres/database.ts'
import { nilId } from '../src/id-format.ts'
import { type Throttle, forEachPage } from './throttle.ts'
import { ignoreStatus } from './reason.ts'

const pageRows = 50

/** Deletes the projects and memberships of a deleted account by commands, with the account as caller. */
export async function closeAccount(sql: Sql, run: Run, userId: string, throttle: Throttle): Promise<void> {
  const [account] = await sql`select id from users where id = ${userId}`
  if (account) return
  const deletions = [
    [
      deleteProject,
      sql`select id, jsonb_build_object('id', id) as input from projects where owner_id = ${userId}`,
    ],
    [
      removeMember,
      sql`select id, jsonb_build_object('projectId', project_id, 'memberId', id) as input from members where user_id = ${userId}`,
    ],
  ] as const
  for (const [{ name }, query] of deletions)
    await forEachPage(throttle, nilId, async (after) => {
      const rows = await sql<{ id: string; input: object }[]>`
        ${query} and id > ${after} order by id, created_at limit ${pageRows}`
      await Promise.all(
        rows.map(({ input }) => run({ name, input, caller: { userId } }).catch(ignoreStatus(404))),
      )
      return rows.at(-1)?.id
    })
}
