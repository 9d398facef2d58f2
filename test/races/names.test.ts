import { at, cases, invite, make, openPair, type Person, register, upTo } from '../kit.ts'
import { startLoad } from './load.ts'

const pair = await openPair()

interface Scene {
  /** The owner and a member, each with a comment in the project. */
  people: Person[]
  readers: Person[]
  paths: string[]
}

async function scene(): Promise<Scene> {
  const { atA: host, a, b } = pair
  const ada = await register(host.as().at(a.url))
  const [grace, reader] = [await register(host.as().at(a.url)), await register(host.as().at(a.url))]
  const project = await make(ada, '/projects', { name: 'Engine' })
  await invite(ada, project.id, grace, 'EDITOR')
  await invite(ada, project.id, reader)
  const { id: taskId } = await make(ada, '/tasks', { title: 'Wheels', projectId: project.id })
  await make(ada, `/tasks/${taskId}/comments`, { text: 'Slow' })
  await make(grace, `/tasks/${taskId}/comments`, { text: 'Fast' })
  const inProject = [`/projects/${project.id}`, `/projects/${project.id}/members`]
  return {
    people: [ada, at(grace, b)],
    readers: [reader, at(reader, b)],
    paths: [...inProject, '/projects', `/tasks/${taskId}/comments`],
  }
}

/** For each path, the indexes of the people whose names the response contains. */
const namesIn = [[0], [1], [0], [0, 1]]

test('after a name change is acknowledged, no process returns the old name or 304', async () => {
  const { people, readers, paths } = await scene()
  const read = (tags: (string | null)[][] = []) =>
    Promise.all(
      readers.map((reader, r) =>
        Promise.all(
          paths.map((path, p) => reader.get(path, tags[r] ? { 'if-none-match': tags[r]![p] ?? '' } : {})),
        ),
      ),
    )
  for (const n of upTo(cases(8))) {
    const before = await read()
    const names = people.map((_, person) => `Name ${person}-${n}`)
    // Alternates, so that each process handles in turn its own change first and the other process's change first.
    for (const person of n % 2 ? [0, 1] : [1, 0])
      await people[person]!.patch('/auth/me', { name: names[person] })
    const after = await read(before.map((answers) => answers.map(({ headers }) => headers.get('etag'))))
    for (const answers of after)
      for (const [p, { status, text }] of answers.entries()) {
        expect([n, paths[p], status]).toEqual([n, paths[p], 200])
        for (const person of namesIn[p]!) expect(text).toContain(`"${names[person]}"`)
      }
    const [atA, atB] = await read()
    const contentOf = (answers: typeof atA) =>
      answers!.map(({ text, headers }) => [text, headers.get('etag')])
    expect(contentOf(atA)).toEqual(contentOf(atB))
  }
})

test('while a name changes, no response returns to an older name, and responses with the same ETag have the same name', async () => {
  const { people, readers, paths } = await scene()
  const [path] = paths as [string]
  let isOver = false
  const byTag = new Map<string, string>()
  const watch = async (reader: Person) => {
    let last = 0
    while (!isOver) {
      const { body, headers } = await reader.get(path)
      const now = Number(body.owner.name.match(/\d+$/)?.[0] ?? 0)
      expect(now).toBeGreaterThanOrEqual(last)
      const tag = headers.get('etag')!
      expect(byTag.get(tag) ?? body.owner.name).toBe(body.owner.name)
      byTag.set(tag, body.owner.name)
      last = now
    }
  }
  const watching = readers.flatMap((reader) => [watch(reader), watch(reader), watch(reader)])
  for (const n of upTo(cases(30))) await people[0]!.patch('/auth/me', { name: `Name ${n}` })
  isOver = true
  await Promise.all(watching)
  expect(byTag.size).toBeGreaterThan(10)
})

const project = await make(pair.atA, '/projects', { name: 'Busy' })

async function underLoad(work: () => Promise<void>): Promise<void> {
  const load = startLoad({ clients: [pair.atA, pair.atB], projectIds: [project.id], writers: 8 })
  await load.acknowledged(20)
  await work().finally(() => load.stop())
}

async function writeAndRead(here: Person, there: Person, rounds: number): Promise<void> {
  const projectId = project.id
  for (const n of upTo(rounds)) {
    const task = await make(here, '/tasks', { title: 'Fresh', priority: 'HIGH', projectId })
    expect((await there.get(`/tasks/${task.id}`)).body).toEqual(task)
    // Tasks of the load have the default priority, so they cannot push the fresh task out of the page.
    expect((await there.get(`/tasks?projectId=${projectId}&priority=HIGH&limit=200`)).text).toContain(task.id)

    const path = `/tasks/${task.id}`
    await here.patch(path, { title: `Changed ${n}`, status: 'DONE' })
    expect((await there.get(path)).body).toMatchObject({ title: `Changed ${n}`, status: 'DONE' })

    const subtask = await make(here, `${path}/subtasks`, { title: 'Sub' })
    expect((await there.get(`${path}/subtasks`)).body).toEqual([subtask] as never)
    const comment = await make(here, `${path}/comments`, { text: 'Words' })
    expect((await there.get(`${path}/comments`)).body).toEqual([comment] as never)

    await here.delete(path)
    expect((await there.get(path)).status).toBe(404)
  }
}

test('a read at one process returns every write that the other process has acknowledged', async () => {
  await underLoad(async () => {
    const rounds = cases(2)
    await Promise.all(
      upTo(4).flatMap(() => [
        writeAndRead(pair.atA, pair.atB, rounds),
        writeAndRead(pair.atB, pair.atA, rounds),
      ]),
    )
  })
})

test('a conditional read after an acknowledged write never returns 304', async () => {
  const { atA, atB } = pair
  const task = await make(atA, '/tasks', { title: 'Tagged', projectId: project.id })
  const paths = [`/tasks/${task.id}`, `/tasks?projectId=${project.id}&limit=1`]
  await underLoad(async () => {
    for (const n of upTo(cases(10))) {
      const before = await Promise.all(paths.map((path) => atB.get(path)))
      await atA.patch(`/tasks/${task.id}`, { title: `Tagged ${n}` })
      for (const [i, path] of paths.entries()) {
        const after = await atB.get(path, { 'if-none-match': before[i]!.headers.get('etag') ?? '' })
        expect(after.status).toBe(200)
      }
      expect((await atB.get(paths[0]!)).body.title).toBe(`Tagged ${n}`)
    }
  })
})
