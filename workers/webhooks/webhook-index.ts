import { nilId } from '../../src/id-format.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { isDue } from './claims.ts'

const searchRows = 5_000

type Row = { id: string; projectId: string; isDue: boolean }

/** The ids of all enabled webhooks are in memory, so that a commit in a project without webhooks causes no query. */
export class WebhookIndex {
  private byProject = new Map<string, Set<string>>()
  private next = new Map<string, Set<string>>()
  private last = nilId

  constructor(private readonly sql: Sql) {}

  of(projectId: string): Iterable<string> {
    return this.byProject.get(projectId) ?? []
  }

  async refresh(projectIds: string[]): Promise<string[]> {
    return this.add(await this.rowsWhere(this.sql`w.project_id = any(${projectIds}::uuid[])`))
  }

  async searchNext(): Promise<string[]> {
    const rows = await this.rowsWhere(this.sql`w.id > ${this.last}`)
    const due = this.add(rows)
    if (rows.length === searchRows) this.last = rows.at(-1)!.id
    else [this.byProject, this.next, this.last] = [this.next, new Map(), nilId]
    return due
  }

  private add(rows: Row[]): string[] {
    for (const { id, projectId } of rows)
      for (const index of [this.byProject, this.next])
        index.set(projectId, (index.get(projectId) ?? new Set()).add(id))
    return rows.flatMap((row) => (row.isDue ? row.id : []))
  }

  private rowsWhere = (where: SqlPart) => this.sql<Row[]>`
    select w.id, w.project_id, ${isDue(this.sql)} as is_due from webhooks w join streams s on s.project_id = w.project_id
    where w.disabled_at is null and ${where} order by w.id limit ${searchRows}`
}
