import type { Sql } from '../../kit.ts'

export type Kind = 'task' | 'comment' | 'subtask' | 'project'

/** A row whose texts can be searched. */
export interface Doc {
  kind: Kind
  id: string
  projectId: string
  taskId: string | null
  at: string
  /** The title of a task or subtask, the name of a project; empty for a comment. */
  title: string
  /** The description, or the text of a comment. */
  text: string
  number?: number
  externalId?: string | null
}

export interface Corpus {
  docs: Doc[]
  /** The users who may see a project, by its id. */
  readers: Map<string, string[]>
}

/** Reads every row that clients can see, from the tables that the log writes. */
export async function readCorpus(sql: Sql): Promise<Corpus> {
  const projects = await sql<(Doc & { readers: string[] })[]>`
    select 'project' as kind, p.id, p.id as project_id, null as task_id, p.created_at as at, p.name as title,
      coalesce(p.description, '') as text,
      array(select m.user_id from members m where m.project_id = p.id) || p.owner_id as readers from projects p`
  const tasks = await sql<Doc[]>`
    select 'task' as kind, t.id, t.project_id, t.id as task_id, t.created_at as at, t.title,
      coalesce(t.description, '') as text, t.number, t.external_id from tasks t join projects p on p.id = t.project_id`
  const children = await sql<Doc[]>`
    select 'comment' as kind, c.id, t.project_id, c.task_id, c.created_at as at, '' as title, c.text
    from comments c join tasks t on t.id = c.task_id join projects p on p.id = t.project_id
    union all
    select 'subtask', s.id, t.project_id, s.task_id, s.created_at, s.title, ''
    from subtasks s join tasks t on t.id = s.task_id join projects p on p.id = t.project_id`
  return {
    docs: [...projects, ...tasks, ...children],
    readers: new Map(projects.map(({ id, readers }) => [id, readers])),
  }
}

/** Returns the rows that a user may see. */
export const visibleDocs = ({ docs, readers }: Corpus, userId: string): Doc[] =>
  docs.filter(({ projectId }) => readers.get(projectId)!.includes(userId))
