import type { Children } from '../facts/children.ts'
import type { LoggedEvent } from '../facts/past.ts'
import { childrenBefore } from '../past/children.ts'
import type { Sql } from '../postgres/database.ts'

/** Tasks whose children are read at once. */
const atOnce = 8

/** What hung on tasks that were deleted, by the seq of that. All of it together is to be no more than moves with a task. */
export async function childrenOf(
  sql: Sql,
  deleted: LoggedEvent[],
  deadline: number,
): Promise<Map<number, Children> | 'too much' | 'forgotten'> {
  const children = new Map<number, Children>()
  const found = { rows: 0, characters: 0 }
  for (let from = 0; from < deleted.length; from += atOnce) {
    const some = deleted.slice(from, from + atOnce)
    const read = await Promise.all(
      some.map(({ projectId, entityId: taskId, id: eventId }) =>
        childrenBefore(sql, { projectId, taskId, eventId, found, deadline }),
      ),
    )
    for (const [i, one] of read.entries()) {
      if (typeof one === 'string') return one
      children.set(some[i]!.seq, one)
    }
  }
  return children
}
