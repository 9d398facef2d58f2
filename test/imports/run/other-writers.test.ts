import { allPages, eventually, forFile, make, openTestService, type Person, upTo } from '../../kit.ts'
import { openImportScene, start } from '../scene.ts'

const tasks = 1_000

const { service, newProject } = await openImportScene()
service.startWorkers()
const other = await forFile(openTestService(service.env))

test('while a worker imports into a project, two services write to it, and no event is lost', async () => {
  const { owner, projectId } = await newProject()
  const file = ['title', ...upTo(tasks).map((n) => `Imported ${n}`)].join('\n')
  const { body } = await start(owner, projectId, file)
  const readImport = async () =>
    (await owner.get(`/imports/${body.id}`)).body as unknown as { state: string; counts: object }
  const written: string[] = []
  const write = async (person: Person, name: string) => {
    for (let n = 0; ['queued', 'running'].includes((await readImport()).state); n++) {
      await make(person, '/tasks', { projectId, title: `${name} ${n}` })
      written.push(`${name} ${n}`)
    }
  }
  const elsewhere = { ...owner, ...other.client.as(owner.token) }
  await Promise.all([write(owner, 'A'), write(elsewhere, 'B')])
  await eventually('the end of the import', async () => (await readImport()).state === 'done')
  expect((await readImport()).counts).toMatchObject({ read: tasks, created: tasks, rejected: 0 })
  expect(written.length).toBeGreaterThan(2)
  const pages = await allPages(owner, `/projects/${projectId}/history?limit=200`)
  const events = pages.flat().toReversed() as unknown as { seq: number; after: { title?: string } | null }[]
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1))
  const titles = events.flatMap(({ after }) => after?.title ?? [])
  expect(titles).toHaveLength(tasks + written.length)
  expect(titles).toEqual(expect.arrayContaining(written))
})
