import { countedBy, countsOf } from '../http/filters-scene.ts'
import { allPages, type Body, cases, invite, make, openScene, Random, versionOf } from '../kit.ts'

const random = new Random(2)
const counting = new Random(3)
const { ada, bea } = await openScene(['Ada', 'Bea'])
const { id: projectId } = await make(ada, '/projects', { name: 'Filtered' })
await invite(ada, projectId, bea, 'ADMIN')
const labels = await Promise.all(
  ['red', 'green', 'blue'].map((name) => make(ada, `/projects/${projectId}/labels`, { name })),
)
const [red, green, blue] = labels.map(({ id }) => id) as [string, string, string]
const field = (body: object) => make(ada, `/projects/${projectId}/fields`, { name: 'Field', ...body })
const fields = [
  await field({ key: 'estimate', type: 'number' }),
  await field({ key: 'size', type: 'choice', options: ['S', 'M'] }),
  await field({ key: 'start', type: 'date' }),
]
const tasks: Body[] = []
for (let n = 0; n < 12; n++) tasks.push(await make(ada, '/tasks', { projectId, title: `T${n}` }))
const [root] = tasks as [Body]

const filters = [
  ...[`labels=${red}`, `labels=${red},${green}`, `anyLabel=${green},${blue}`, 'noLabel=true'],
  ...['ready=true', 'claimedBy=me', `claimedBy=${bea.id}`, 'claimedBy=none', 'externalId=X-1'],
  ...['ready=true&noLabel=true', `anyLabel=${red}&sort=position`, 'claimedBy=me&sort=-dueDate'],
  ...['field.estimate=2', 'field.estimate.min=2&sort=position', 'field.size=S&ready=true'],
  ...['field.start.min=2027-01-02', 'field.start.max=2027-01-01'],
  ...[`blocks=${root.id}`, 'ready=true&status=TODO', `anyLabel=${blue}&dueBefore=2030-01-01&sort=createdAt`],
]
const pathOf = (filter: string) => `/tasks?projectId=${projectId}&limit=3&${filter}`
type Listed = Body & { labelIds: string[]; fields: object }
/** Returns the tasks of each list. A list by a deleted field gets 400. */
const readAll = async (suffix = '') =>
  Promise.all(
    filters.map(async (filter) => {
      const path = pathOf(filter) + suffix
      const { status, body } = await ada.get(path)
      if (status !== 200) return [filter, [`${status} ${body.message}`]] as const
      const shown = (await allPages(ada, path)).flat() as Listed[]
      if (counting.chance(0.3)) await expectCounts(filter, suffix, shown)
      return [filter, shown.map(({ id, labelIds, fields }) => ({ id, labelIds, fields }))] as const
    }),
  )

/** Compares the numbers of tasks with the tasks of the list, now or at the version in the suffix. */
async function expectCounts(filter: string, suffix: string, shown: Listed[]): Promise<void> {
  const by = counting.pick(countedBy)!
  const query = filter.replace(/&?sort=[^&]*/, '')
  const { body } = await ada.get(`/tasks/counts?projectId=${projectId}&${query}${suffix}&by=${by}`)
  const counts = countsOf(shown, by, ({ labelIds }) => labelIds)
  const version = /asOf=(\d+)/.exec(suffix)?.[1] ?? (await versionOf(ada, projectId))
  expect([filter, by, body as unknown]).toEqual([
    ...[filter, by],
    { version: Number(version), total: shown.length, counts, isExact: true },
  ])
}

const some = <T>(all: T[]) => random.shuffled(all).slice(0, random.below(all.length + 1))

const writes: Record<string, () => Promise<unknown>> = {
  label: () => ada.patch(`/tasks/${random.pick(tasks)!.id}`, { labelIds: some([red, green, blue]) }),
  block: () => ada.patch(`/tasks/${random.pick(tasks)!.id}`, { addBlockedByIds: [random.pick(tasks)!.id] }),
  change: () =>
    ada.patch(`/tasks/${random.pick(tasks)!.id}`, {
      status: random.pick(['TODO', 'DONE']),
      dueDate: random.pick([null, '2029-01-01', '2031-01-01']),
      externalId: random.pick([null, 'X-1']),
    }),
  value: () =>
    ada.patch(`/tasks/${random.pick(tasks)!.id}`, {
      fields: {
        estimate: random.pick([null, 1, 2, 3]),
        size: random.pick([null, 'S', 'M']),
        start: random.pick([null, '2027-01-01', '2027-01-02']),
      },
    }),
  place: () => ada.patch(`/tasks/${random.pick(tasks)!.id}`, { place: random.pick(['first', 'last']) }),
  claim: () =>
    random.pick([ada, bea])!.post(`/tasks/${random.pick(tasks)!.id}/claim`, { leaseSeconds: 3_600 }),
  release: () => random.pick([ada, bea])!.post(`/tasks/${random.pick(tasks)!.id}/release`),
  deleteLabel: () => ada.delete(`/labels/${random.pick(labels)!.id}`),
  deleteField: () => ada.delete(`/fields/${random.pick(fields)!.id}`),
  deleteTask: () => ada.delete(`/tasks/${random.pick(tasks)!.id}`),
}

const weights = {
  label: 8,
  block: 5,
  change: 6,
  value: 6,
  place: 1,
  claim: 4,
  release: 2,
  deleteLabel: 1,
  deleteTask: 1,
}

async function version(): Promise<number> {
  return Number((await ada.get(`/projects/${projectId}`)).headers.get('docket-version'))
}

test('each filter selects in a snapshot the tasks that it selected at that version', async () => {
  const seen = new Map<number, Awaited<ReturnType<typeof readAll>>>()
  let found = 0
  const selecting = new Set<string>()
  for (let round = 0; round < cases(8); round++) {
    // Restores most of the labels and tasks that the last round deleted.
    if (random.chance(0.8)) await ada.post(`/projects/${projectId}/undo`, { seq: await version() })
    for (let n = 0; n < 10; n++) await writes[random.weighted(weights)]!()
    if (random.chance(0.5)) await writes[random.pick(['deleteLabel', 'deleteTask', 'deleteField'])!]!()
    const now = await readAll()
    seen.set(await version(), now)
    for (const [filter, ids] of now) if (ids.some((one) => typeof one === 'object')) selecting.add(filter)
    found += now.reduce((sum, [, ids]) => sum + ids.length, 0)
  }
  expect(found).toBeGreaterThan(300)
  expect(filters.filter((filter) => !selecting.has(filter))).toEqual([])
  for (const [at, then] of seen) expect([at, await readAll(`&asOf=${at}`)]).toEqual([at, then])
})
