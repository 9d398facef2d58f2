import { removeMember } from '../modules/members/commands.ts'
import { deleteProject } from '../modules/projects/commands.ts'
import type { Run } from '../src/commands/route.ts'
import type { Sql } from '../src/postgres/database.ts'
import { Refusal } from '../src/wire/refusals.ts'
import { nilId } from '../src/ids.ts'
import { type Pace, perPage } from './pace.ts'

const atOnce = 50

/**
 * Ends what a deleted account leaves: the projects it owned and its memberships, by the rules of everybody and in its
 * name. Run again, it finds what is left. An account that stands is left alone.
 */
export async function closeAccount(sql: Sql, run: Run, userId: string, pace: Pace): Promise<void> {
  const [account] = await sql`select id from users where id = ${userId}`
  if (account) return
  const ends = (name: string, input: object) => run({ name, input, caller: { userId } }).catch(unlessGone)

  await perPage(pace, nilId, async (after) => {
    const rows = await sql<{ id: string }[]>`
      select id from projects where owner_id = ${userId} and id > ${after} order by id, created_at limit ${atOnce}`
    await Promise.all(rows.map(({ id }) => ends(deleteProject.name, { id })))
    return rows.at(-1)?.id
  })
  await perPage(pace, nilId, async (after) => {
    const rows = await sql<{ id: string; projectId: string }[]>`
      select id, project_id from members where user_id = ${userId} and id > ${after} order by id, created_at limit ${atOnce}`
    await Promise.all(rows.map(({ id, projectId }) => ends(removeMember.name, { projectId, memberId: id })))
    return rows.at(-1)?.id
  })
}

/** Somebody else, perhaps an earlier run, has done it. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Refusal) || error.status !== 404) throw error
}
