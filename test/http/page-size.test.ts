import { type Body, make, nextPath, openScene, runBatch } from '../kit.ts'

const rows = 60
/** The documented maximum of a page. */
const pageBytes = 1_048_576
/** Texts of the maximum length, made of characters that need 1, 2, 3 or 4 bytes in UTF-8, or 6 characters in JSON. */
const texts = ['x', 'é', '字', '🪐', '\u0001'].map((unit) => unit.repeat(20_000 / unit.length))
const maxRowBytes = 6 * 20_000 + 2_000
const { service, ada } = await openScene(['Ada'])
const project = await make(ada, '/projects', { name: 'Small' })
const task = await make(ada, '/tasks', { title: 'Small', projectId: project.id })
const sql = service.services.database.commits
const long = sql`(${texts}::text[])[1 + n % ${texts.length}::int]`
const series = sql`generate_series(1, ${rows}::int) n`
await sql`with p as (insert into projects (id, owner_id, name, description, created_at, event_id)
    select uuidv7(), ${ada.id}, 'Large', ${long}, now(), uuidv7() from ${series} returning id)
  insert into streams (project_id, version, last_number) select id, 1, 0 from p`
await sql`insert into tasks
    (id, project_id, number, title, description, status, priority, due_date, created_at, updated_at, event_id)
  select uuidv7(), ${project.id}, 1 + n, 'Large', ${long}, 'TODO', 'LOW',
    case when n % 3 = 0 then '2030-01-01'::timestamptz end, now(), now(), uuidv7() from ${series}`
await sql`insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
  select uuidv7(), ${task.id}, ${ada.id}, ${long}, now(), now(), uuidv7() from ${series}`

const idsOf = async (table: string, order = 'id', where = 'true') => {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where ${sql.unsafe(where)} order by ${sql.unsafe(order)}`
  return rows.map(({ id }) => id)
}
const tasks = await idsOf('tasks')
const inProject = `/tasks?projectId=${project.id}&limit=200`
const lists: { path: string; ids: string[] }[] = [
  { path: '/projects', ids: await idsOf('projects') },
  { path: inProject, ids: tasks },
  { path: `${inProject}&sort=-createdAt`, ids: tasks.toReversed() },
  { path: `${inProject}&sort=dueDate`, ids: await idsOf('tasks', 'due_date nulls last, id') },
  { path: '/tasks?limit=200', ids: tasks },
  {
    path: '/tasks?limit=200&sort=createdAt&dueAfter=2029-01-01',
    ids: await idsOf('tasks', 'id', 'due_date is not null'),
  },
  { path: `/tasks/${task.id}/comments?limit=200`, ids: await idsOf('comments') },
]

test('a page ends at its maximum of bytes, and following the links returns every row once, in order', async () => {
  for (const { path, ids } of lists) {
    const pages: { bytes: number; shown: Body[] }[] = []
    for (let next: string | undefined = path; next;) {
      const { status, text, body, headers } = await ada.get(next)
      expect([path, status]).toEqual([path, 200])
      pages.push({ bytes: Buffer.byteLength(text), shown: [...body] })
      next = nextPath(headers)
    }
    expect([path, pages.flatMap(({ shown }) => shown.map(({ id }) => id))]).toEqual([path, ids])
    for (const { bytes } of pages) expect(bytes).toBeLessThanOrEqual(pageBytes)
    // A filter scans at most 2,000 tasks of all projects for a page.
    if (path.includes('due')) expect(pages.length).toBeLessThan(5)
    else for (const { bytes } of pages.slice(0, -1)) expect(bytes).toBeGreaterThan(pageBytes - maxRowBytes)
    const long = new Set(pages.flatMap(({ shown }) => shown.map((row) => row.description ?? row.text)))
    expect([...long].filter((text) => texts.includes(text)).length).toBeGreaterThanOrEqual(2)
  }
})

test('a page that is cut by size keeps its ETag until one of its rows changes', async () => {
  for (const path of ['/projects', inProject, `/tasks/${task.id}/comments?limit=200`]) {
    const { headers } = await ada.get(path)
    expect(nextPath(headers)).toBeDefined()
    expect((await ada.get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(304)
  }
  const { headers, body } = await ada.get('/projects')
  await ada.patch(`/projects/${body.at(-1)!.id}`, { name: 'Renamed' })
  const after = await ada.get('/projects', { 'if-none-match': headers.get('etag')! })
  expect([after.status, after.body.at(-1)!.name]).toEqual([200, 'Renamed'])
})

// Postgres returns up to 63 tasks as one text, in which this character separates the values.
const separator = '\x1f'
const controls = Array.from({ length: 30 }, (_, n) => String.fromCharCode(n + 1)).join('')
const titles = ['a', '=', '"\\"', '\u2028 ÿ', '工程 🚀', "'$1,(){}"]
const times = [
  ...['2027-01-31T17:00:00.5Z', '2027-01-31', '0050-01-01T00:00:00.12+05:30', '9999-12-31T00:00:00.001Z'],
]
const pages: [what: string, inputs: object[]][] = [
  ['no task', []],
  [
    'special characters',
    titles.map((title, n) => ({ title, description: `${title}${controls}\x7f`, externalId: `${n}${title}` })),
  ],
  ['times', times.map((dueDate) => ({ dueDate, remindAt: '2090-01-01', place: 'first' }))],
  ['a separator in a text', [{}, { description: `a${separator}b` }]],
  ['separators for the values of a whole task', [{}, { description: `b${separator.repeat(13)}` }]],
  ['a label', [{}, { labelIds: ['#label'] }]],
]

test.each(pages)('a page with %s is the same however the service reads it', async (name, inputs) => {
  const { id: projectId } = await make(ada, '/projects', { name })
  const tasks = inputs.map((input) => ({ op: 'task.create', title: 'T', ...input }))
  const label = { op: 'label.create', as: 'label', name: 'New', color: '#336699' }
  const [, ...made] = await runBatch(ada, projectId, [label, ...tasks])
  for (const sort of ['createdAt', '-createdAt', 'dueDate', '-dueDate', 'createdAt&status=TODO']) {
    const list = (limit: number) => ada.get(`/tasks?projectId=${projectId}&sort=${sort}&limit=${limit}`)
    const [small, large] = [await list(63), await list(64)]
    expect(small.text).toBe(large.text)
    expect(small.body.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort())
    for (const one of small.body) expect((await ada.get(`/tasks/${one.id}`)).body).toEqual(one)
  }
})
