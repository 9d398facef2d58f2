import { nilId } from '../../src/id-format.ts'
import { grouped } from '../../src/postgres/grouped.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { repeatedly } from '../../src/waits.ts'
import type { Services } from '../../src/services.ts'
import { isDue } from './claims.ts'
import { Dispatcher } from './dispatcher.ts'

const searchEveryMs = 1_000
const renewEveryMs = 750

export function startWebhookDelivery(services: Services): () => Promise<void> {
  const { config, database, notifications, log, webhookNotifications } = services
  const index = new WebhookIndex(database.background)
  const dispatcher = new Dispatcher(services)
  const refresh = grouped({ keys: 500, slots: 1 }, async (projectIds: string[]) => {
    dispatcher.wake(await index.refresh(projectIds))
    return projectIds
  })
  const stops = [
    repeatedly(async () => dispatcher.wake(await index.searchNext()), searchEveryMs, log),
    repeatedly(() => dispatcher.renew(), renewEveryMs, log),
    notifications.listen(({ projectId }) => dispatcher.notify(index.of(projectId))),
    webhookNotifications.listen(({ projectId }) => void refresh(projectId).catch(() => {})),
  ]
  return async () => {
    dispatcher.stop()
    await Promise.all(stops.map((stop) => stop()))
    await dispatcher.drain(config.drainTimeoutMs / 2)
  }
}

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
