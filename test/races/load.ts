import type { Sql } from '../../src/postgres/database.ts'
import type { Client } from '../support/client.ts'
import { eventually, tally } from './pair.ts'

/** One create, tagged by its title. Status 0: the connection to the service itself failed. */
interface Write {
  title: string
  status: number
}

/** Writers and readers that go on until they are stopped. */
export interface Load {
  writes: Write[]
  /** Statuses of reads. */
  reads: number[]
  /** Waits until so many more creates are acknowledged. */
  acknowledged(more: number): Promise<void>
  stop(): Promise<void>
}

export interface LoadOptions {
  clients: Client[]
  projectIds: string[]
  writers?: number
}

let loads = 0

/** Creates tasks through every client, in every project, and reads them between. */
export function startLoad({ clients, projectIds, writers = 12 }: LoadOptions): Load {
  const load = ++loads
  const writes: Write[] = []
  const reads: number[] = []
  let going = true
  const among = <T>(all: T[], n: number) => all[n % all.length] as T

  async function write(writer: number): Promise<void> {
    for (let n = 0; going; n++) {
      const title = `load ${load} writer ${writer} task ${n}`
      const projectId = among(projectIds, writer + n)
      const status = await statusOf(among(clients, writer).post('/tasks', { title, projectId }))
      writes.push({ title, status })
      if (status !== 201) await Bun.sleep(5)
    }
  }
  async function read(reader: number): Promise<void> {
    for (let n = 0; going; n++) {
      const projectId = among(projectIds, n)
      const path = n % 2 ? `/projects/${projectId}` : `/tasks?limit=5&sort=-createdAt&projectId=${projectId}`
      reads.push(await statusOf(among(clients, reader).get(path)))
      await Bun.sleep(2)
    }
  }
  const all = [...Array.from({ length: writers }, (_, i) => write(i)), ...clients.map((_, i) => read(i))]
  const created = () => writes.filter(({ status }) => status === 201).length
  return {
    writes,
    reads,
    acknowledged: (more) => {
      const enough = created() + more
      return eventually(`${more} more creates`, () => created() >= enough)
    },
    async stop() {
      going = false
      await Promise.all(all)
    },
  }
}

/** What became of a load: `lost` were acknowledged and are not there, `doubled` are there more than once. */
export async function account(sql: Sql, { writes, reads }: Load) {
  const rows = await sql<{ title: string; n: number }[]>`
    select title, count(*)::int4 as n from tasks group by title`
  const stored = new Map(rows.map(({ title, n }) => [title, n]))
  return {
    lost: writes.filter(({ title, status }) => status === 201 && !stored.has(title)),
    doubled: rows.filter(({ n }) => n > 1),
    writes: tally(writes.map(({ status }) => status)),
    reads: tally(reads),
  }
}

/** Projects whose tasks are not numbered 1, 2, 3 … without a gap. */
export const misnumbered = (sql: Sql) => sql`
  select project_id from tasks group by project_id
  having min(number) <> 1 or max(number) <> count(*) or count(distinct number) <> count(*)`

const statusOf = (answer: Promise<{ status: number }>): Promise<number> =>
  answer.then(
    ({ status }) => status,
    () => 0,
  )
