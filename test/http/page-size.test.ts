import { type Body, make, nextPath, openScene, upTo } from '../kit.ts'

const rows = 60
/** The documented maximum of a page. */
const pageBytes = 1_048_576
/** Texts of the maximum length, made of characters that need 1, 2, 3 or 4 bytes in UTF-8, or 6 characters in JSON. */
const texts = ['x', 'é', '字', '🪐', '\u0001'].map((unit) => unit.repeat(20_000 / unit.length))
const maxRowBytes = 6 * 20_000 + 2_000
const { sql, ada } = await openScene(['Ada'])
const project = await make(ada, '/projects', { name: 'Small' })
const task = await make(ada, '/tasks', { title: 'Small', projectId: project.id })
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

const inProject = `/tasks?projectId=${project.id}&limit=200`
const lists = [
  ...['/projects', inProject, `${inProject}&sort=-createdAt`, `${inProject}&sort=dueDate`],
  ...['/tasks?limit=200', '/tasks?limit=200&sort=createdAt&dueAfter=2029-01-01'],
  `/tasks/${task.id}/comments?limit=200`,
]
/** The ids in the order of the list: ids are in the order of creation. */
async function idsOf(path: string): Promise<string[]> {
  const table = ['comments', 'projects'].find((name) => path.includes(`/${name}`)) ?? 'tasks'
  const order = path.includes('sort=dueDate') ? sql`due_date nulls last, id` : sql`id`
  const where = path.includes('dueAfter') ? sql`due_date is not null` : sql`true`
  const found = await sql<{ id: string }[]>`select id from ${sql(table)} where ${where} order by ${order}`
  const ids = found.map(({ id }) => id)
  return path.includes('sort=-') ? ids.reverse() : ids
}

test('a page ends at its maximum of bytes, and following the links returns every row once, in order', async () => {
  for (const path of lists) {
    const pages: { bytes: number; shown: Body[] }[] = []
    for (let next: string | undefined = path; next;) {
      const { status, text, body, headers } = await ada.get(next)
      expect([path, status]).toEqual([path, 200])
      pages.push({ bytes: Buffer.byteLength(text), shown: [...body] })
      next = nextPath(headers)
    }
    const shown = pages.flatMap((page) => page.shown)
    expect([path, shown.map(({ id }) => id)]).toEqual([path, await idsOf(path)])
    for (const { bytes } of pages) expect(bytes).toBeLessThanOrEqual(pageBytes)
    for (const { bytes } of pages.slice(0, -1)) expect(bytes).toBeGreaterThan(pageBytes - maxRowBytes)
    const long = new Set(shown.map((row) => row.description ?? row.text))
    expect([...long].filter((text) => texts.includes(text)).length).toBeGreaterThanOrEqual(2)
  }
})

test('a page that is cut by size keeps its ETag until one of its rows changes', async () => {
  for (const path of lists.filter((path) => !path.startsWith('/tasks?limit'))) {
    const { headers } = await ada.get(path)
    expect(nextPath(headers)).toBeDefined()
    const condition = { 'if-none-match': headers.get('etag')! }
    for (const _ of upTo(2)) expect([path, (await ada.get(path, condition)).status]).toEqual([path, 304])
  }
  const { headers, body } = await ada.get('/projects')
  await ada.patch(`/projects/${body.at(-1)!.id}`, { name: 'Renamed' })
  const after = await ada.get('/projects', { 'if-none-match': headers.get('etag')! })
  expect([after.status, after.body.at(-1)!.name]).toEqual([200, 'Renamed'])
})

const separator = '\x1f'

/** Pages of more than 63 tasks are always read by columns. */
async function expectSameBytes(projectId: string) {
  for (const sort of ['createdAt', '-createdAt', 'dueDate', '-dueDate', 'createdAt&status=TODO']) {
    const list = (limit: number) => ada.get(`/tasks?projectId=${projectId}&sort=${sort}&limit=${limit}`)
    expect((await list(63)).text).toBe((await list(64)).text)
  }
}

test('a page that is read as one text has the same bytes as a page that is read by columns', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Texts' })
  const add = (fields: object) => make(ada, '/tasks', { projectId, ...fields })
  await expectSameBytes(projectId)
  const controls = String.fromCharCode(...upTo(30))
  for (const [n, title] of ['a', '=', '"\\"', '\u2028 ÿ', '工程 🚀', "'$1,(){}"].entries()) {
    await add({ title })
    await add({ title, description: `${title}${controls}\x7f`, externalId: `${n}${title}` })
  }
  const times = [
    '2027-01-31T17:00:00.5Z',
    '2027-01-31',
    '0050-01-01T00:00:00.12+05:30',
    '9999-12-31T00:00:00.001Z',
  ]
  for (const dueDate of times) await add({ title: 'Time', dueDate, remindAt: '2090-01-01', place: 'first' })
  await expectSameBytes(projectId)
  // A text with separators, one with separators for the values of a whole task, and a label.
  for (const fields of [
    { description: `a${separator}b` },
    { description: `b${separator.repeat(13)}` },
    { labelIds: ['label'] },
  ]) {
    const { id } = await make(ada, '/projects', { name: 'One' })
    const label = await make(ada, `/projects/${id}/labels`, { name: 'New', color: '#336699' })
    await make(ada, '/tasks', { projectId: id, title: 'Plain' })
    const own = 'labelIds' in fields ? { labelIds: [label.id] } : fields
    const task = await make(ada, '/tasks', { projectId: id, title: 'a', ...own })
    await expectSameBytes(id)
    const { body } = await ada.get(`/tasks?projectId=${id}`)
    expect(body[1]).toEqual((await ada.get(`/tasks/${task.id}`)).body)
  }
})
