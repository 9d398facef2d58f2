import { setImmediate as yieldToRequests } from 'node:timers/promises'
import type { Sql } from '../../../src/postgres/database.ts'
import { pageBytes } from '../../../src/reads/pages.ts'
import { commentDocument, projectDocument, subtaskDocument, taskDocument } from '../text/document.ts'

export const kinds = { task: 0, comment: 1, subtask: 2, project: 3 } as const

/** The current content of a row that is a document. `title` is null if the project has no such row. */
export interface SourceRow {
  projectId: string
  kind: number
  id: string
  taskId: string | null
  at: string
  number: number | null
  title: string | null
  /** The description of a task or project. */
  text: string | null
}

/** A query returns the rows of several projects, and one head for each project. */
export type RowOrHead<Head> = SourceRow & { head: Head | null }

export const sourceColumns = (sql: Sql) =>
  sql`d.project_id, d.kind, d.id, d.task_id, d.at, d.number, d.title, d.text`

export const noSource = (sql: Sql) =>
  sql`null::uuid, null::int4, null::uuid, null::uuid, null::timestamptz, null::int4, null, null`

/** Adds the rows of each project to what `read` returns for its head. */
export function withRows<Head extends { projectId: string }, Part>(
  all: RowOrHead<Head>[],
  read: (head: Head, rows: SourceRow[]) => Part,
): (Part & { rows: SourceRow[] })[] {
  const rows = new Map<string, SourceRow[]>()
  for (const { head } of all) if (head) rows.set(head.projectId, [])
  for (const row of all) if (!row.head) rows.get(row.projectId)!.push(row)
  return all.flatMap(({ head }) => {
    if (!head) return []
    const own = rows.get(head.projectId)!
    return [{ ...read(head, own), rows: own }]
  })
}

/** The most bytes of the texts of a project: one page for all projects of a statement. The last text may exceed this limit. */
export const maxBytesOfProject = (projectIds: string[]): number => Math.floor(pageBytes / projectIds.length)

/** A tsvector has at most 1 MiB. Only texts of characters that Unicode expands to many characters exceed this limit. */
const maxCharacters = 300_000

/** Returns the text of a tsvector. */
export function documentOf(row: SourceRow): string {
  const text = textOf(row)
  return text.length <= maxCharacters ? text : text.slice(0, text.lastIndexOf(" '", maxCharacters))
}

/** Other requests continue after this time. */
const maxBlockingMs = 5

export async function documentsOf(rows: SourceRow[]): Promise<string[]> {
  const documents: string[] = []
  let since = performance.now()
  for (const row of rows) {
    documents.push(documentOf(row))
    if (performance.now() < since + maxBlockingMs) continue
    await yieldToRequests()
    since = performance.now()
  }
  return documents
}

function textOf({ kind, number, title, text: description }: SourceRow): string {
  const text = title!
  if (kind === kinds.task) return taskDocument({ number: number!, title: text, description })
  if (kind === kinds.comment) return commentDocument({ text })
  return kind === kinds.subtask
    ? subtaskDocument({ title: text })
    : projectDocument({ name: text, description })
}
