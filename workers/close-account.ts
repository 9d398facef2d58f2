import { removeMember } from '../modules/members/decide.ts'
import { deleteProject } from '../modules/projects/decide.ts'
import type { Actors } from '../src/actor/actors.ts'
import type { Context, Decision } from '../src/actor/events.ts'
import type { ProjectState } from '../src/actor/state.ts'
import type { Sql } from '../src/core/database.ts'
import { Refusal } from '../src/core/errors.ts'
import { nilId } from '../src/core/ids.ts'
import { type Pace, perPage } from './pace.ts'

const atOnce = 50

/**
 * Ends what a deleted account leaves: the projects it owned and its memberships, by the rules of everybody and in its
 * name. Run again, it finds what is left. An account that stands is left alone.
 */
export async function closeAccount(sql: Sql, actors: Actors, userId: string, pace: Pace): Promise<void> {
  const [account] = await sql`select id from users where id = ${userId}`
  if (account) return
  const ends = (projectId: string, decide: (state: ProjectState, context: Context) => Decision<void>) =>
    actors.run({ projectId, caller: userId, decide }).catch(unlessGone)

  await perPage(pace, nilId, async (after) => {
    const rows = await sql<{ id: string }[]>`
      select id from projects where owner_id = ${userId} and id > ${after} order by id, created_at limit ${atOnce}`
    await Promise.all(rows.map(({ id }) => ends(id, deleteProject)))
    return rows.at(-1)?.id
  })
  await perPage(pace, nilId, async (after) => {
    const rows = await sql<{ id: string; projectId: string }[]>`
      select id, project_id from members where user_id = ${userId} and id > ${after} order by id, created_at limit ${atOnce}`
    await Promise.all(
      rows.map(({ id, projectId }) => ends(projectId, (state, context) => removeMember(state, context, id))),
    )
    return rows.at(-1)?.id
  })
}

/** Somebody else, perhaps an earlier run, has done it. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Refusal) || error.status !== 404) throw error
}
