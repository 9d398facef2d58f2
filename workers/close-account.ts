import { removeMember } from '../modules/members/decide.ts'
import { deleteProject } from '../modules/projects/decide.ts'
import type { Actors } from '../src/actor/actors.ts'
import type { Context, Decision } from '../src/actor/events.ts'
import type { ProjectState } from '../src/actor/state.ts'
import type { Sql } from '../src/core/database.ts'
import { Refusal } from '../src/core/errors.ts'
import { newId, nilId } from '../src/core/ids.ts'
import { type Pace, perPage } from './cascade.ts'

const atOnce = 50
const mostAccounts = 1_000

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

/**
 * Recurring: a write that was let in just before its account went may have come after the job. Asks for the job again
 * where an account that is gone still owns or belongs to something. Answers how many there were.
 */
export async function closeLeftAccounts(sql: Sql): Promise<number> {
  const left = await sql<{ userId: string }[]>`
    select user_id from (select owner_id as user_id from projects union select user_id from members) named
    where not exists (select from users u where u.id = named.user_id)
      and not exists (select from outbox o where o.name = 'close-account' and o.data->>'userId' = named.user_id::text)
    limit ${mostAccounts}`
  for (const { userId } of left) {
    const data = JSON.stringify({ userId })
    await sql`insert into outbox (id, project_id, name, data, created_at)
      values (${newId()}, null, 'close-account', ${data}::text::jsonb, now())`
  }
  return left.length
}

/** Somebody else, perhaps an earlier run, has done it. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Refusal) || error.status !== 404) throw error
}
