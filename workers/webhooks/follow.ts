import { batched } from '../../src/postgres/batch.ts'
import { repeatedly } from '../../src/repeatedly.ts'
import { nilId } from '../../src/ids.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { isDue } from './begin-turns.ts'
import { Work } from './work.ts'

const lookEveryMs = 1_000
/** Well within a lease of 5 s. */
const renewEveryMs = 750

/** Delivers to all webhooks: woken by notifications, which may be lost, and by a search each second. Returns how to stop. */
export function followForWebhooks(services: Services): () => Promise<void> {
  const { config, database, notifications, log, webhookNotifications } = services
  const known = new Known(database.background)
  const work = new Work(services)
  const lookSoon = batched({ keys: 500, slots: 1 }, async (ids: string[]) => {
    work.wake(await known.lookAt(ids))
    return ids
  })
  const stops = [
    repeatedly(async () => work.wake(await known.look()), lookEveryMs, log),
    repeatedly(() => work.renew(), renewEveryMs, log),
    notifications.listen(({ projectId }) => work.hint(known.of(projectId))),
    webhookNotifications.listen(({ projectId }) => void lookSoon(projectId).catch(() => {})),
  ]
  return async () => {
    work.stop()
    await Promise.all(stops.map((stop) => stop()))
    await work.end(config.drainTimeoutMs / 2)
  }
}

const lookRows = 5_000

type Row = { id: string; projectId: string; isDue: boolean }

/** The webhooks of each project: a commit of a project without webhooks wakes nothing. */
export class Known {
  private byProject = new Map<string, Set<string>>()
  private gathered = new Map<string, Set<string>>()
  private last = nilId

  constructor(private readonly sql: Sql) {}

  of(projectId: string): Iterable<string> {
    return this.byProject.get(projectId) ?? []
  }

  /** Reads the webhooks of projects that were changed just now, and returns those that are due. */
  async lookAt(projectIds: string[]): Promise<string[]> {
    return this.learn(await this.rowsWhere(this.sql`w.project_id = any(${projectIds}::uuid[])`))
  }

  /** Reads the next webhooks of all, from the start again after the end, and returns those that are due. */
  async look(): Promise<string[]> {
    const rows = await this.rowsWhere(this.sql`w.id > ${this.last}`)
    const due = this.learn(rows)
    if (rows.length === lookRows) this.last = rows.at(-1)!.id
    else {
      this.byProject = this.gathered // without the webhooks that were deleted
      this.gathered = new Map()
      this.last = nilId
    }
    return due
  }

  private learn(rows: Row[]): string[] {
    for (const { id, projectId } of rows) {
      for (const one of [this.byProject, this.gathered])
        one.set(projectId, (one.get(projectId) ?? new Set()).add(id))
    }
    return rows.flatMap((row) => (row.isDue ? row.id : []))
  }

  private rowsWhere = (where: SqlPart) => this.sql<Row[]>`
    select w.id, w.project_id, ${isDue(this.sql)} as is_due from webhooks w join streams s on s.project_id = w.project_id
    where w.disabled_at is null and ${where} order by w.id limit ${lookRows}`
}
