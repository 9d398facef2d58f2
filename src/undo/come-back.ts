import { type Children, isTooMuch } from '../facts/children.ts'
import type { LoggedEvent } from '../facts/past.ts'
import { childrenBefore } from '../past/children.ts'
import type { Sql } from '../postgres/database.ts'

/** Tasks whose children are read at once. */
const atOnce = 8

/** What hung on tasks that were deleted, by the seq of that. All of it together is to be no more than moves with a task. */
export async function childrenOf(
  sql: Sql,
  deleted: LoggedEvent[],
): Promise<Map<number, Children> | 'too much' | 'forgotten'> {
  const children = new Map<number, Children>()
  const all: Children = { subtasks: [], comments: [] }
  for (let from = 0; from < deleted.length; from += atOnce) {
    const some = deleted.slice(from, from + atOnce)
    const found = await Promise.all(
      some.map(({ projectId, entityId: taskId, id: eventId }) =>
        childrenBefore(sql, { projectId, taskId, eventId }),
      ),
    )
    for (const [i, one] of found.entries()) {
      if (typeof one === 'string') return one
      children.set(some[i]!.seq, one)
      all.subtasks.push(...one.subtasks)
      all.comments.push(...one.comments)
    }
    if (isTooMuch(all)) return 'too much'
  }
  return children
}
