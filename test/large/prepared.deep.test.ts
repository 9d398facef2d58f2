import { readFile } from 'node:fs/promises'
import { type Body, invite, make, openScene, register, runBatch, type Sql, writeCursor } from '../kit.ts'
import { sorts } from '../../modules/task-lists/sorts.ts'

const maxMiB = 50
// One connection in each pool, so that this connection prepares all statements.
const { service, ada } = await openScene(['Ada'], { READ_CONNECTIONS: '1', COMMIT_SLOTS: '1' })
const project = await make(ada, '/projects', { name: 'Walked' })

/** Returns the private memory of the backend process; without /proc, the memory that Postgres reports. */
async function mebibytesOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number; bytes: number }[]>`
    select pg_backend_pid() as pid, sum(total_bytes)::float8 as bytes from pg_backend_memory_contexts`
  const smaps = await readFile(`/proc/${row!.pid}/smaps_rollup`, 'utf8').catch(() => '')
  const kibibytes = [...smaps.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].map(([, number]) => Number(number))
  return kibibytes.length ? kibibytes.reduce((all, one) => all + one) / 1_024 : row!.bytes / 1_048_576
}

function* combinations(choices: Record<string, string[]>): Generator<Record<string, string>> {
  const [first, ...others] = Object.entries(choices)
  if (!first) return yield {}
  for (const rest of combinations(Object.fromEntries(others))) {
    yield rest
    for (const value of first[1]) yield { [first[0]]: value, ...rest }
  }
}

function taskLists(task: Body): string[] {
  const lists = combinations({
    ...{ projectId: [project.id], status: ['TODO'], priority: ['LOW'], assigneeId: ['me'] },
    ...{ dueBefore: ['2028-01-01'], dueAfter: ['2026-01-01'], sort: [...sorts], cursor: ['yes'] },
  })
  const valid = lists.filter(({ sort, projectId }) => sort !== 'position' || projectId)
  return Array.from(valid, ({ cursor, ...query }) => {
    const byDue = query.sort?.endsWith('dueDate') ?? (query.dueBefore || query.dueAfter)
    const byPosition = query.sort === 'position'
    const key = byPosition ? ['j0000000001'] : byDue ? ['2027-01-01T00:00:00.000Z', task.id] : [task.id]
    return `/tasks?${new URLSearchParams(cursor ? { ...query, cursor: writeCursor(key) } : query)}`
  })
}

test('a database connection uses at most 50 MiB after every list with every filter, order and page', async () => {
  const task = await make(ada, '/tasks', { projectId: project.id, title: 'Walked' })
  await invite(ada, project.id, await register(service.client))
  const parents = ['/projects', `/projects/${project.id}/members`]
  const children = ['subtasks', 'comments'].map((name) => `/tasks/${task.id}/${name}`)
  const pages = ['', '?limit=1', `?cursor=${writeCursor([task.id])}`]
  const history = `/projects/${project.id}/history`
  const histories = [
    `/tasks/${task.id}/history`,
    history,
    `${history}?entity=task&from=2026-01-01&to=2028-01-01`,
  ]
  const lists = taskLists(task)
  expect(lists.length).toBeGreaterThanOrEqual(2 ** 7 * (1 + sorts.length) - 2 ** 6)
  for (const path of [
    ...[...parents, ...children].flatMap((path) => pages.map((page) => path + page)),
    ...[`/tasks/${task.id}`, ...histories, ...lists.flatMap((path) => [path, `${path}&limit=200`])],
  ])
    expect({ path, status: (await ada.get(path)).status }).toEqual({ path, status: 200 })
  expect(await mebibytesOf(service.services.database.reads)).toBeLessThan(maxMiB)
})

test('a database connection uses at most 50 MiB after batches of every combination of writes', async () => {
  const { id: changed } = await make(ada, '/tasks', { projectId: project.id, title: 'Changed' })
  const step = await make(ada, `/tasks/${changed}/subtasks`, { title: 'S' })
  const remark = await make(ada, `/tasks/${changed}/comments`, { text: 'C' })
  for (let n = 1; n < 2 ** 8; n++) {
    const [deleted] = await runBatch(ada, project.id, [{ op: 'task.create', title: 'Deleted' }])
    const writes = [
      { op: 'task.create', title: 'New' },
      { op: 'task.update', id: changed, title: `Changed ${n}` },
      { op: 'task.delete', id: deleted!.id },
      { op: 'subtask.create', taskId: changed, title: 'New' },
      { op: 'comment.create', taskId: changed, text: 'New' },
      { op: 'label.create', name: `Label ${n}` },
      { op: 'subtask.toggle', id: step.id },
      { op: 'comment.update', id: remark.id, text: `Changed ${n}` },
    ]
    await runBatch(
      ada,
      project.id,
      writes.filter((_, i) => n & (1 << i)),
    )
  }
  expect(await mebibytesOf(service.services.database.commits)).toBeLessThan(maxMiB)
})
