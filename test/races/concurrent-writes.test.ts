import { type Answer, type Client, faultsOf, make, openPair, register, runBatch, statuses } from '../kit.ts'
import { unreachableUrl, upTo } from '../kit.ts'

const { atA, atB, sql } = await openPair()

const tasks = (count: number) => upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` }))
const labels = upTo(10).map((n) => ({ op: 'label.create', name: `L${n}` }))
const change = [
  { op: 'task.create', as: 'task', title: 'Before' },
  { op: 'task.update', id: '#task', title: 'After' },
]
const email = `twin-${atA.id}@example.com`
const [twin, guest] = [{ name: 'Twin', email, password: 'secret-1' }, await register(atB)]

const { id: elsewhere } = await make(atA, '/projects', { name: 'Elsewhere' })

interface Project {
  id: string
  path: string
  /** The rows of the operations. */
  ids: string[]
}
type Send = (client: Client, project: Project, n: number) => Promise<Answer>
/** The statuses of writes that two processes get at the same time, in a project that these operations have filled. */
const races: [what: string, outcomes: Record<number, number>, operations: object[], Send][] = [
  ['registrations with one address', { 201: 1, 409: 7 }, [], (by) => by.as().post('/auth/register', twin)],
  [
    'invitations of one user',
    { 201: 1, 409: 19 },
    [],
    (by, { path }) => by.post(`${path}/members/invite`, { email: guest.email, role: 'EDITOR' }),
  ],
  ['deletions of a project', { 200: 1, 404: 19 }, tasks(1), (by, { path }) => by.delete(path)],
  [
    'creations of labels with one name',
    { 201: 1, 409: 9 },
    [],
    (by, { path }, n) => by.post(`${path}/labels`, { name: n % 3 ? 'Bug' : 'bUG' }),
  ],
  [
    'renames of labels to one name',
    { 200: 1, 409: 9 },
    labels,
    (by, { ids }, n) => by.patch(`/labels/${ids[n]}`, { name: 'New' }),
  ],
  [
    'creations of fields with 60 keys',
    { 201: 50, 409: 70 },
    [],
    (by, { path }, n) => by.post(`${path}/fields`, { key: `k${n % 60}`, name: 'N', type: 'text' }),
  ],
  [
    'creations of webhooks',
    { 201: 100, 409: 20 },
    [],
    (by, { path }) => by.post(`${path}/webhooks`, { url: unreachableUrl }),
  ],
  [
    'changes that form a cycle of 12 blockers',
    { 200: 11, 409: 1 },
    tasks(12),
    (by, { ids }, n) => by.patch(`/tasks/${ids[n]}`, { addBlockedByIds: [ids[(n + 1) % 12]!] }),
  ],
  [
    'claims of the next of 40 tasks',
    { 200: 40, 204: 24 },
    tasks(40),
    (by, { path }) => by.post(`${path}/claim-next`, { leaseSeconds: 600 }),
  ],
  [
    'moves of 8 tasks to and fro',
    { 200: 40 },
    tasks(8),
    (by, { id, ids }, n) =>
      by.patch(`/tasks/${ids[n % 8]}`, { projectId: n % 16 < 8 ? elsewhere : id, title: `Move ${n}` }),
  ],
  ['undos of one change', { 200: 1, 409: 5 }, change, (by, { path }) => by.post(`${path}/undo`, { seq: 3 })],
]

test.each(races)(
  'of concurrent %s at two processes, as many as %p succeed',
  async (_, outcomes, operations, send) => {
    const { id } = await make(atA, '/projects', { name: 'P' })
    const rows = operations.length > 0 ? await runBatch(atA, id, operations) : []
    const project = { id, path: `/projects/${id}`, ids: rows.map((row) => row.id) }
    const count = Object.values(outcomes).reduce((sum, n) => sum + n)
    const answers = await Promise.all(upTo(count).map((n) => send(n % 2 ? atA : atB, project, n - 1)))
    expect(statuses(answers)).toEqual(outcomes)
    // The ETag of a response names its event, so it shows that no row was written or claimed twice.
    const etags = answers.flatMap(({ status, headers }) => (status < 204 ? (headers.get('etag') ?? []) : []))
    expect(new Set(etags).size).toBe(etags.length)
    expect(await sql`select from webhooks group by project_id, slot having count(*) > 1`).toEqual([] as never)
    expect(await faultsOf(sql)).toEqual([])
  },
)
