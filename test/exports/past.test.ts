import { allPages, cases, eventually, make, openScene, Random, versionOf } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { exported, linesOf, withoutTime } from './scene.ts'

const { service, ada, bea, cleo } = await openScene(['Ada', 'Bea', 'Cleo'])
service.startWorkers()

const kinds = ['format=docket', 'format=docket&history=true', 'format=ndjson', 'format=csv']

const seed = Date.now()
test(`an export with asOf equals the export that was made at that version (seed ${seed})`, async () => {
  const world = await startRandomWrites(new Random(seed), [ada, bea, cleo])
  const made: { projectId: string; version: string; texts: string[] }[] = []
  for (let round = 0; round < cases(3); round++) {
    await writeRandomly(world, 60)
    for (const { id: projectId } of world.projects) {
      const texts = []
      const versions = new Set<string>()
      for (const kind of kinds) {
        const answer = await ada.get(`/projects/${projectId}/export?${kind}`)
        expect(answer.status).toBe(200)
        versions.add(answer.headers.get('docket-version')!)
        texts.push(answer.text)
      }
      // Workers also write, such as reminders.
      if (versions.size === 1) made.push({ projectId, version: [...versions][0]!, texts })
    }
  }
  expect(made.length).toBeGreaterThan(0)
  for (const { projectId: id, version } of made.slice(-2)) {
    const pages = await allPages(ada, `/tasks?projectId=${id}&sort=position&limit=200&asOf=${version}`)
    const lines = linesOf(await exported(ada, id, `format=ndjson&asOf=${version}`))
    expect(lines.map(({ subtasks: _, comments: __, ...task }) => task)).toEqual(pages.flat() as never[])
  }
  for (const { projectId, version, texts } of made)
    for (const [n, kind] of kinds.entries())
      expect(withoutTime(await exported(ada, projectId, `${kind}&asOf=${version}`))).toBe(
        withoutTime(texts[n]!),
      )
}, 60_000)

test('an export with asOf shows a claim whose time is over, because no event had ended the claim', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Queue' })
  const { id } = await make(ada, '/tasks', { projectId, title: 'Draw' })
  // The API allows no lease that ends at once.
  const claim = { name: 'task.claim', input: { id, leaseSeconds: 0 }, caller: { userId: ada.id } }
  await service.services.run(claim)
  await eventually('the end of the claim', async () => (await versionOf(ada, projectId)) === 4)
  const claims = async (version: number) =>
    (await exported(ada, projectId, `asOf=${version}`)).match(/"seq":3/g)
  expect([await claims(2), await claims(3), await claims(4)]).toEqual([null, ['"seq":3'], null])
})

test('an export with asOf needs the events after that version', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Old' })
  for (const title of ['A', 'B', 'C']) await make(ada, '/tasks', { projectId, title })
  await service.services.database.background`delete from events where project_id = ${projectId} and seq <= 3`
  for (const [version, status] of Object.entries({ 1: 410, 2: 410, 3: 200 }))
    expect((await ada.get(`/projects/${projectId}/export?asOf=${version}`)).status).toBe(status)
})
