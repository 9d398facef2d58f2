import { tailOf } from '../../modules/imports/convert/keys.ts'
import type { CommentItem, SubtaskItem } from '../../modules/imports/items.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { StagedChild } from './staged.ts'

interface Child {
  id: string
  taskId: string
  title?: string
  createdAt: string
  author?: string | null
}

/** The subtasks and comments that the tasks of a batch already have in the project. */
export class ExistingChildren {
  /** By id, and by the last digits of the id, which are the same in each import. */
  private readonly ids = new Map<string, string>()
  private readonly idsByContent = new Map<string, string>()

  constructor(children: Child[]) {
    const counts = new Map<string, number>()
    for (const { id, taskId, title, createdAt, author } of children) {
      this.ids.set(tailOf(id), id).set(id, id)
      const content = contentOf(taskId, { title, createdAt: new Date(createdAt).toISOString(), author })
      const n = (counts.get(content) ?? 0) + 1
      counts.set(content, n)
      this.idsByContent.set(`${content} ${n}`, id)
    }
  }

  find(id: string): string | undefined {
    return this.ids.get(id)
  }

  /** Finds a child of an exported task by title, or by author and time: a CSV export has no ids of children. */
  findContent(taskId: string, item: SubtaskItem | CommentItem, key: string): string | undefined {
    const { title, createdAt, author } = { title: undefined, author: undefined, ...item }
    // The key of the second equal child ends with `#2`, and so on.
    const n = key.split('#')[1] ?? '1'
    return this.idsByContent.get(`${contentOf(taskId, { title, createdAt, author: author?.name })} ${n}`)
  }
}

interface Content {
  title: string | undefined
  createdAt: string | undefined
  author: string | null | undefined
}

const contentOf = (taskId: string, { title, createdAt, author }: Content): string =>
  JSON.stringify([taskId, title ?? [createdAt, author ?? '']])

/** @param holders the ids of the tasks that the project already has, by the number of the staged task */
export async function readExistingChildren(
  sql: Sql,
  children: StagedChild[],
  holders: ReadonlyMap<number, string>,
): Promise<ExistingChildren> {
  const ofKinds = (...kinds: string[]) => [
    ...new Set(
      children.flatMap(({ kind, taskN }) => (kinds.includes(kind) ? (holders.get(taskN) ?? []) : [])),
    ),
  ]
  const [withSubtasks, withComments] = [ofKinds('leaf', 'subtask'), ofKinds('comment')]
  const [subtasks, comments] = await Promise.all([
    withSubtasks.length > 0 ? subtasksOf(sql, withSubtasks) : [],
    withComments.length > 0 ? commentsOf(sql, withComments) : [],
  ])
  return new ExistingChildren([...subtasks, ...comments])
}

// Lateral joins, because Postgres would scan the whole table while its statistics do not know the imported tasks.
const subtasksOf = (sql: Sql, taskIds: string[]) => sql<Child[]>`
  select s.* from unnest(${taskIds}::uuid[]) q(task_id) cross join lateral (
    select id, task_id, title, created_at from subtasks where task_id = q.task_id order by id) s`
const commentsOf = (sql: Sql, taskIds: string[]) => sql<Child[]>`
  select c.* from unnest(${taskIds}::uuid[]) q(task_id) cross join lateral (
    select c.id, c.task_id, c.created_at, coalesce(c.imported_author, u.name) as author
    from comments c left join users u on u.id = c.author_id where c.task_id = q.task_id order by c.id) c`
