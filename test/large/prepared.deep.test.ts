import { readFile } from 'node:fs/promises'
import { type Body, invite, make, model, openScene, register, type Sql, writeCursor } from '../kit.ts'
import { sorts } from '../../modules/task-lists/sorts.ts'
import { priorities, statuses } from '../../modules/tasks/schema.ts'
import { openChooseStatement } from '../../src/commit/commit.ts'
import { parametersOf } from '../../src/commit/statement.ts'

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

const taskLists = (task: Body) => {
  const lists = combinations({
    projectId: [project.id],
    status: [statuses[0]],
    priority: [priorities[0]],
    assigneeId: ['me'],
    dueBefore: ['2028-01-01'],
    dueAfter: ['2026-01-01'],
    sort: [...sorts],
    cursor: ['yes'],
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
  const others = [
    '/projects',
    `/projects/${project.id}/members`,
    `/tasks/${task.id}`,
    `/tasks/${task.id}/subtasks`,
  ]
  const pages = [...others, `/tasks/${task.id}/comments`].flatMap((path) => [
    path,
    `${path}?limit=1`,
    `${path}?cursor=${writeCursor([task.id])}`,
  ])
  const history = `/projects/${project.id}/history`
  const histories = [
    `/tasks/${task.id}/history`,
    history,
    `${history}?entity=task&from=2026-01-01&to=2028-01-01`,
  ]
  const lists = taskLists(task)
  expect(lists.length).toBeGreaterThanOrEqual(2 ** 7 * (1 + sorts.length) - 2 ** 6)
  const long = lists.map((path) => `${path}&limit=200`)
  for (const path of [
    ...pages.filter((path) => !path.startsWith(`/tasks/${task.id}?`)),
    ...lists,
    ...long,
    ...histories,
  ])
    expect({ path, status: (await ada.get(path)).status }).toEqual({ path, status: 200 })
  expect(await mebibytesOf(service.services.database.reads)).toBeLessThan(maxMiB)
})

test('a database connection uses at most 50 MiB after commits of every combination of writes', async () => {
  const { config, database } = service.services
  const choose = openChooseStatement(config.commitShapes)
  const children = ['comment', 'subtask'] as const
  const texts = new Set<string>()
  for (let n = 0; n < 2 ** 15; n += 97) {
    const unlogged = n % 11 > 8
    const some = (mask: number) =>
      model.names.filter((name, i) =>
        model.entities[name].unlogged ? unlogged && mask > 15 : mask & (1 << i),
      )
    const [adds, sets, cuts] = [some(n >> 10), some((n >> 5) & 31), some(n & 31)]
    const beside = { unlogged, jobs: n % 5 > 2, records: n % 7 > 3 }
    const puts = children.filter((_, i) => n & (4 << i))
    const named = { insert: adds, upsert: puts, update: sets, delete: cuts }
    const writes = Object.entries(named).flatMap(([how, names]) => names.map((name) => `${how} ${name}`))
    const asked = {
      spansProjects: n % 3 === 0,
      hasNewProjects: n % 2 > 0,
      skipsLocked: n % 13 > 9,
      writes,
      ...beside,
    }
    // A shape that recurs gets its own statement.
    for (let time = 0; time < 2; time++) {
      const { shape, text } = choose(asked)
      texts.add(text)
      const none = parametersOf(shape, { heads: [], events: [], unlogged: [], jobs: [], records: [] })
      await database.commits.unsafe(text, none, { prepare: true })
    }
  }
  expect(texts.size).toBeGreaterThan(3 * config.commitShapes)
  expect(await mebibytesOf(database.commits)).toBeLessThan(maxMiB)
})
