import type { Sql } from '../../src/postgres/database.ts'
import { nilId } from '../../src/ids.ts'
import { isDue } from './begin-turns.ts'

/** Webhooks that are looked at in one round. */
const lookRows = 5_000

interface Row {
  id: string
  projectId: string
  isDue: boolean
}

/** Which projects have webhooks, so that no commit of another one is looked at. */
export class Known {
  private byProject = new Map<string, Set<string>>()
  private gathered = new Map<string, Set<string>>()
  private last = nilId

  constructor(private readonly sql: Sql) {}

  /** The webhooks of a project. */
  of(projectId: string): Iterable<string> {
    return this.byProject.get(projectId) ?? []
  }

  /** Looks at the webhooks of some projects, which were changed just now. Answers those that something is due to. */
  async lookAt(projectIds: string[]): Promise<string[]> {
    const { sql } = this
    return this.learn(await rowsWhere(sql, sql`w.project_id = any(${projectIds}::uuid[])`, lookRows))
  }

  /** Looks at the next webhooks of all, from the start again after the end. */
  async look(): Promise<string[]> {
    const rows = await rowsWhere(this.sql, this.sql`w.id > ${this.last}`, lookRows)
    const due = this.learn(rows)
    if (rows.length === lookRows) this.last = rows.at(-1)!.id
    else {
      this.byProject = this.gathered // who was not met this time is gone
      this.gathered = new Map()
      this.last = nilId
    }
    return due
  }

  private learn(rows: Row[]): string[] {
    for (const { id, projectId } of rows) {
      for (const one of [this.byProject, this.gathered]) {
        one.set(projectId, (one.get(projectId) ?? new Set()).add(id))
      }
    }
    return rows.flatMap((row) => (row.isDue ? row.id : []))
  }
}

const rowsWhere = (sql: Sql, where: ReturnType<Sql>, most: number) => sql<Row[]>`
  select w.id, w.project_id, ${isDue(sql)} as is_due from webhooks w join streams s on s.project_id = w.project_id
  where w.disabled_at is null and ${where} order by w.id limit ${most}`
