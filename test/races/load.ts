import { type Client, eventually, faultsOf, type Sql } from '../kit.ts'

/** Status 0: the connection to the service failed. */
interface Write {
  title: string
  status: number
}

type Load = ReturnType<typeof startLoad>

interface LoadOptions {
  clients: Client[]
  projectIds: string[]
  writers?: number
}

let loads = 0

export function startLoad({ clients, projectIds, writers = 12 }: LoadOptions) {
  const load = ++loads
  const writes: Write[] = []
  const reads: number[] = []
  let going = true
  const itemAt = <T>(all: T[], n: number) => all[n % all.length] as T

  async function write(writer: number): Promise<void> {
    for (let n = 0; going; n++) {
      const title = `load ${load} writer ${writer} task ${n}`
      const projectId = itemAt(projectIds, writer + n)
      const status = await statusOf(itemAt(clients, writer).post('/tasks', { title, projectId }))
      writes.push({ title, status })
      if (status !== 201) await Bun.sleep(5)
    }
  }
  async function read(reader: number): Promise<void> {
    for (let n = 0; going; n++) {
      const projectId = itemAt(projectIds, n)
      const path = n % 2 ? `/projects/${projectId}` : `/tasks?limit=5&sort=-createdAt&projectId=${projectId}`
      reads.push(await statusOf(itemAt(clients, reader).get(path)))
      await Bun.sleep(2)
    }
  }
  const all = [...Array.from({ length: writers }, (_, i) => write(i)), ...clients.map((_, i) => read(i))]
  const created = () => writes.filter(({ status }) => status === 201).length
  return {
    ...{ projectIds, writes, reads },
    acknowledged: (more: number) => {
      const enough = created() + more
      return eventually(`${more} more creates`, () => created() >= enough)
    },
    async stop() {
      going = false
      await Promise.all(all)
    },
  }
}

/** @param others Statuses that are allowed besides 200 and 201. */
export async function expectAllStored(sql: Sql, load: Load, others: number[]): Promise<void> {
  await load.stop()
  const { projectIds, writes, reads } = load
  const rows = await sql<{ title: string; n: number }[]>`
    select title, count(*)::int4 as n from tasks where project_id = any(${projectIds}::uuid[]) group by title`
  const stored = new Set(rows.map(({ title }) => title))
  const found = {
    lost: writes.filter(({ title, status }) => status === 201 && !stored.has(title)),
    doubled: rows.filter(({ n }) => n > 1),
    writes: writes.filter(({ status }) => ![201, ...others].includes(status)),
    reads: reads.filter((status) => ![200, ...others].includes(status)),
    faults: await faultsOf(sql),
  }
  expect(found).toEqual({ lost: [], doubled: [], writes: [], reads: [], faults: [] })
  expect(reads).not.toBeEmpty()
}

const statusOf = (answer: Promise<{ status: number }>): Promise<number> =>
  answer.then(
    ({ status }) => status,
    () => 0,
  )
