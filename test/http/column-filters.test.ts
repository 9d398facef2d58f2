import type { TaskRow } from '../../drizzle/rows.ts'
import { allPages, cases, expectResponse, invite, make, newId } from '../kit.ts'
import { openScene, Random, unknownId, withToken } from '../kit.ts'
import type { Person } from '../kit.ts'
import { countedBy, expectedCounts, expectedIds, fields, ofProject, past } from './filters-scene.ts'
import { randomQuery, soon, storedAs } from './filters-scene.ts'
import type { Known, Query } from './filters-scene.ts'

const random = new Random(24)
const { sql, ada, bob } = await openScene(['Ada', 'Bob'])
const projects = await Promise.all(['One', 'Two', 'Three'].map((name) => make(ada, '/projects', { name })))
const [first, second] = projects.map(({ id }) => id) as [string, string]
for (const { id } of projects) await invite(ada, id, bob, 'EDITOR')
const hidden = await make(bob, '/projects', { name: 'Hidden from Ada' })

const labels = new Map<string, string[]>()

const some = <T>(all: readonly T[], most: number) => random.shuffled(all).slice(0, random.below(most + 1))
const orNull = <T>(list: T[]) => (list.length > 0 ? list : null)

async function fill(projectId: string): Promise<void> {
  const operations = Array.from({ length: 60 }, (_, n) => ({
    ...{ op: 'task.create', title: `T${n}`, status: random.pick(['TODO', 'IN_PROGRESS', 'DONE']) },
    ...{ priority: random.pick(['LOW', 'HIGH']), assigneeId: random.pick([null, ada.id, bob.id]) },
    dueDate: random.pick([null, null, '2027-01-01', '2027-02-01']),
  }))
  for (const one of operations)
    if (projectId === hidden.id && one.assigneeId === ada.id) one.assigneeId = null
  const { status } = await bob.post(`/projects/${projectId}/batch`, { operations })
  expect(status).toBe(200)
  const tasks = await sql<{ id: string }[]>`select id from tasks where project_id = ${projectId} order by id`
  const ids = tasks.map(({ id }) => id)
  const own = Array.from({ length: 4 }, newId)
  labels.set(projectId, own)
  for (const id of own)
    await sql`insert into labels (id, project_id, name, created_at, event_id)
      values (${id}, ${projectId}, ${id}, now(), ${newId()})`
  for (const { key, type, options } of fields)
    await sql`insert into task_fields (id, project_id, key, name, type, options, created_at, event_id)
      values (${newId()}, ${projectId}, ${key}, ${key}, ${type}, ${(options ?? null) as never}, now(), ${newId()})`
  for (const [n, id] of ids.entries()) {
    const chosen = some(fields, 5).map(({ key, type, values }) => [key, storedAs(type, random.pick(values))])
    const blockers = random.chance(0.4) ? some(ids.slice(0, n), 3) : []
    const claim = random.chance(0.3) && [random.pick([ada.id, bob.id])!, random.pick([past, soon])!]
    await sql`update tasks set label_ids = ${orNull(some(own, 3))}, blocked_by_ids = ${orNull(blockers)},
      fields = ${(chosen.length ? Object.fromEntries(chosen) : null) as never},
      external_id = ${n % 5 ? null : `X-${n}`}, attempts = ${random.below(4)}, claimed_by = ${claim ? claim[0]! : null},
      claimed_until = ${claim ? claim[1]! : null}, claim_seq = ${claim ? 1 : null},
      position = ${random.chance(0.3) ? `j00000000${10 + random.below(70)}V${n}V` : null} where id = ${id}`
  }
}
for (const { id } of [...projects, hidden]) await fill(id)
// Tasks still store the ids of these rows.
const deletedLabels = projects.map(({ id }) => labels.get(id)![0]!)
await sql`delete from labels where id = any(${deletedLabels}::uuid[])`
const [deletedTask] = await sql<{ id: string }[]>`delete from tasks where id = (select b.id from tasks t
    join tasks b on b.id = any(t.blocked_by_ids) where t.project_id = ${first} limit 1) returning id`

const known: Omit<Known, 'me'> = {
  tasks: await sql<TaskRow[]>`select * from tasks`,
  labels: new Set([...labels.values()].flat().filter((id) => !deletedLabels.includes(id))),
  now: Date.now(),
}
const allLabels = projects.flatMap(({ id }) => labels.get(id)!)
/** A deleted label, two labels of the first project, and one of the second project. */
const someLabels = allLabels.filter((_, n) => [0, 1, 2, 5].includes(n))
const blockers = [...new Set(known.tasks.flatMap(({ blockedByIds }) => blockedByIds ?? []))]

const choices: Record<string, string[]> = {
  status: ['TODO', 'IN_PROGRESS', 'DONE'],
  priority: ['LOW', 'MEDIUM', 'HIGH'],
  assigneeId: ['me', bob.id],
  dueBefore: ['2027-01-15', '2027-02-01', '2027-02-01T01:00:00+00:30', '2028-01-01'],
  dueAfter: ['2027-01-15', '2027-01-01', '2026-01-01', '2028-01-01'],
  labels: [...someLabels, `${allLabels[1]},${allLabels[2]}`, `${allLabels[0]},${allLabels[1]}`],
  anyLabel: [`${allLabels[1]},${allLabels[2]},${allLabels[5]}`, allLabels[0]!, allLabels.join()],
  noLabel: ['true'],
  blocks: blockers.slice(0, 4),
  ready: ['true'],
  claimedBy: ['me', 'none', bob.id],
  minAttempts: ['0', '1', '3', '999999999999999'],
  sort: ['createdAt', '-createdAt', 'dueDate', '-dueDate'],
}

/** Reads in pages that are smaller than the number of projects if few tasks are expected. */
async function expectReference(query: Query, caller: Person = ada, most = 7): Promise<number> {
  const tasks = known.tasks.filter(({ projectId }) => caller.id === bob.id || projectId !== hidden.id)
  const expected = expectedIds(query, { ...known, tasks, me: caller.id })
  const limit = expected.length < 20 ? 2 : most
  const pages = await allPages(caller, `/tasks?${new URLSearchParams({ ...query, limit: String(limit) })}`)
  expect([query, pages.flat().map(({ id }) => id)]).toEqual([query, expected])
  if (query.projectId) await expectCounts(query, { ...known, tasks, me: caller.id }, caller)
  return expected.length
}

async function expectCounts({ sort: _, ...query }: Query, all: Known, caller: Person): Promise<void> {
  const by = random.pick(countedBy)!
  const { body } = await caller.get(`/tasks/counts?${new URLSearchParams({ ...query, by })}`)
  const expected = { ...expectedCounts(query, by, all), isExact: true, version: expect.any(Number) }
  expect([query, by, body as unknown]).toEqual([query, by, expected])
}

test('each filter returns the same tasks as the reference implementation', async () => {
  let found = 0
  for (const [name, values] of Object.entries(choices))
    for (const value of values)
      for (const more of [{}, { projectId: first }, { projectId: second }])
        found += await expectReference({ [name]: value, ...more } as Query, ada, 200)
  for (const [name, values] of Object.entries(ofProject))
    for (const value of values) found += await expectReference({ projectId: first, [name]: value }, ada, 200)
  expect(found).toBeGreaterThan(1_000)
})

test('random combinations of filters return the same tasks as the reference implementation', async () => {
  let found = 0
  for (let n = 0; n < cases(30); n++) {
    const across = randomQuery(random, choices, 4)
    found += await expectReference(across, random.pick([ada, bob])!)
    const sorted: Query = random.chance(0.3) ? { sort: 'position' } : {}
    const within = { ...randomQuery(random, choices, 2), ...randomQuery(random, ofProject, 2) }
    found += await expectReference(
      { ...within, ...sorted, projectId: random.pick([first, second])! },
      random.pick([ada, bob])!,
    )
  }
  expect(found).toBeGreaterThan(200)
})

test('a filter by a deleted or hidden label or blocker, or by an unknown assignee, selects no task', async () => {
  const [theirs] = await sql<TaskRow[]>`select * from tasks
    where project_id = ${hidden.id} and blocked_by_ids is not null and label_ids is not null limit 1`
  const { labelIds, blockedByIds } = theirs!
  for (const filter of [
    ...[
      `labels=${deletedLabels[0]}`,
      `anyLabel=${deletedLabels[0]},${unknownId}`,
      `blocks=${deletedTask!.id}`,
    ],
    ...[`labels=${labelIds![0]}`, `anyLabel=${labelIds!.join()}`, `blocks=${blockedByIds![0]}`],
    `assigneeId=${unknownId}`,
  ])
    expectResponse(await ada.get(`/tasks?${filter}`), 200, [])
  const program = await withToken(ada, { projects: [first] })
  for (const filter of ['ready=true', 'noLabel=true', 'claimedBy=me', `anyLabel=${allLabels.join()}`])
    expect(await allPages(program, `/tasks?${filter}`)).toEqual(
      await allPages(ada, `/tasks?${filter}&projectId=${first}`),
    )
})
