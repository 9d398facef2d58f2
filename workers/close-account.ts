import { removeMember } from '../modules/members/commands.ts'
import { deleteProject } from '../modules/projects/commands.ts'
import type { Run } from '../src/commands/router.ts'
import type { Sql } from '../src/postgres/database.ts'
import { nilId } from '../src/ids.ts'
import { type Throttle, forEachPage } from './throttle.ts'
import { ignoreStatus } from './reason.ts'

const pageRows = 50

/**
 * Deletes the projects and the memberships of a deleted account, by commands in its name. Run again, it continues with the
 * rest. It leaves an account that exists alone.
 */
export async function closeAccount(sql: Sql, run: Run, userId: string, pace: Throttle): Promise<void> {
  const [account] = await sql`select id from users where id = ${userId}`
  if (account) return
  const ends = [
    [
      deleteProject,
      sql`select id, jsonb_build_object('id', id) as input from projects where owner_id = ${userId}`,
    ],
    [
      removeMember,
      sql`select id, jsonb_build_object('projectId', project_id, 'memberId', id) as input from members where user_id = ${userId}`,
    ],
  ] as const
  for (const [{ name }, found] of ends)
    await forEachPage(pace, nilId, async (after) => {
      const rows = await sql<{ id: string; input: object }[]>`
        ${found} and id > ${after} order by id, created_at limit ${pageRows}`
      await Promise.all(rows.map(({ input }) => run({ name, input, caller: { userId } }).catch(ignoreStatus(404))))
      return rows.at(-1)?.id
    })
}
