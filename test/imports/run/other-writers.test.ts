import { eventually, forFile, make, openPair, type Person, spawnService, upTo } from '../../kit.ts'

const tasks = 2_000

const { atA, atB, env } = await openPair()
await forFile(spawnService('worker', env))

/** Reads all events of the project. @throws if a seq is missing */
async function readTitles(projectId: string): Promise<string[]> {
  const titles: string[] = []
  for (let after = 0; ;) {
    const { body } = await atA.get(`/projects/${projectId}/events?after=${after}&limit=200`)
    const events = body as unknown as { seq: number; after: { title?: string } | null }[]
    if (events.length === 0) return titles
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => after + 1 + n))
    titles.push(...events.flatMap(({ after: row }) => row?.title ?? []))
    after = events.at(-1)!.seq
  }
}

test('while a worker imports into a project, two web processes write to it, and no event is lost', async () => {
  const { id: projectId } = await make(atA, '/projects', { name: 'Busy' })
  const file = ['title', ...upTo(tasks).map((n) => `Imported ${n}`)].join('\n')
  const { body } = await atA.call('POST', `/projects/${projectId}/imports?source=csv`, Buffer.from(file))
  const readImport = async () =>
    (await atB.get(`/imports/${body.id}`)).body as unknown as { state: string; counts: object }
  const written: string[] = []
  const write = async (person: Person, name: string) => {
    for (let n = 0; ['queued', 'running'].includes((await readImport()).state); n++) {
      await make(person, '/tasks', { projectId, title: `${name} ${n}` })
      written.push(`${name} ${n}`)
    }
  }
  await Promise.all([write(atA, 'A'), write(atB, 'B')])
  await eventually('the end of the import', async () => (await readImport()).state === 'done')
  expect((await readImport()).counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
  expect(written.length).toBeGreaterThan(2)
  const titles = await readTitles(projectId)
  expect(titles).toHaveLength(tasks + written.length)
  expect(titles).toEqual(expect.arrayContaining(written))
})
