import {
  at,
  cases,
  faultsOf,
  invite,
  make,
  openClient,
  openPair,
  type Person,
  register,
  upTo,
} from '../kit.ts'
import { startLoad } from './load.ts'

const pair = await openPair()
const { a, b, atA, atB, sql } = pair
const rounds = cases(10)

/** A project of Ada at process A, and a guest who writes at B, so that B has the project cached when A changes it. */
async function openShared() {
  const guest = at(await register(openClient(a.url)), b)
  const { id } = await make(atA, '/projects', { name: 'Shared' })
  const path = `/projects/${id}`
  const member = { id: '' }
  const join = async () => void (member.id = (await invite(atA, id, guest, 'EDITOR')).id)
  await join()
  return {
    join,
    write: async () => (await guest.post('/tasks', { title: 'Mine', projectId: id })).status,
    read: async () => (await guest.get(path)).status,
    setRole: async (role: string) =>
      expect((await atA.patch(`${path}/members/${member.id}/role`, { role })).status).toBe(200),
    leave: async () => expect((await atA.delete(`${path}/members/${member.id}`)).status).toBe(200),
    remove: async () => expect((await atA.delete(path)).status).toBe(200),
  }
}

test('a role that is set at one process, and a removal, apply to the next request at the other process', async () => {
  const { setRole, leave, join, write, read } = await openShared()
  for (const n of upTo(rounds)) {
    await setRole('VIEWER')
    expect(await write()).toBe(403)
    await setRole('EDITOR')
    expect(await write()).toBe(201)
    await leave()
    for (const request of n % 2 ? [write, read] : [read, write]) expect(await request()).toBe(404)
    await join()
    expect(await (n % 2 ? write() : read())).toBe(n % 2 ? 201 : 200)
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('under load, every write is rejected that starts after the member became a VIEWER', async () => {
  const { setRole, write } = await openShared()
  for (const _ of upTo(10)) {
    await setRole('EDITOR')
    let isRevoked = false
    const writer = async () => {
      for (;;) {
        const beganRevoked = isRevoked
        const status = await write()
        if (beganRevoked) return status
      }
    }
    const writers = upTo(8).map(writer)
    await setRole('VIEWER')
    isRevoked = true
    expect(await Promise.all(writers)).toEqual(upTo(8).map(() => 403))
  }
})

test('a project deleted at one process returns 404 to the next request at the other', async () => {
  for (const n of upTo(rounds / 2)) {
    const { write, read, remove } = await openShared()
    expect(await write()).toBe(201)
    await remove()
    expect(await (n % 2 ? write() : read())).toBe(404)
  }
})

/** An owner and a member with comments in a project, a reader at each process, and the paths that show their names. */
async function openNames() {
  const people = [await register(atA), await register(atA), await register(atA)] as [Person, Person, Person]
  const [ada, grace, reader] = people
  const project = await make(ada, '/projects', { name: 'Engine' })
  const inProject = `/projects/${project.id}`
  await invite(ada, project.id, grace, 'EDITOR')
  await invite(ada, project.id, reader)
  const comments = `/tasks/${(await make(ada, '/tasks', { title: 'W', projectId: project.id })).id}/comments`
  for (const one of [ada, grace]) await make(one, comments, { text: 'Slow' })
  /** With the indexes of the people whose names the response contains. */
  const paths: [string, number[]][] = [
    [inProject, [0]],
    [`${inProject}/members`, [1]],
    ['/projects', [0]],
    [comments, [0, 1]],
  ]
  return { people: [ada, at(grace, b)], readers: [reader, at(reader, b)], paths }
}

test('after a name change is acknowledged, no process returns the old name or 304', async () => {
  const { people, readers, paths } = await openNames()
  const readAll = (known: (string | null)[][] = []) =>
    Promise.all(
      readers.map((reader, r) =>
        Promise.all(paths.map(([path], p) => reader.get(path, { 'if-none-match': known[r]?.[p] ?? '' }))),
      ),
    )
  for (const n of upTo(cases(8))) {
    const before = await readAll()
    const names = people.map((_, person) => `Name ${person}-${n}`)
    // Alternates, so that each process handles in turn its own change first and the other process's change first.
    for (const person of n % 2 ? [0, 1] : [1, 0])
      await people[person]!.patch('/auth/me', { name: names[person] })
    const after = await readAll(before.map((answers) => answers.map(({ headers }) => headers.get('etag'))))
    for (const answers of after)
      for (const [p, { status, text }] of answers.entries()) {
        expect([n, paths[p]![0], status]).toEqual([n, paths[p]![0], 200])
        for (const person of paths[p]![1]) expect(text).toContain(`"${names[person]}"`)
      }
    const [one, other] = (await readAll()).map((answers) =>
      answers.map(({ text, headers }) => [text, headers.get('etag')]),
    )
    expect(one).toEqual(other!)
  }
})

test('while a name changes, no response returns to an older name, and responses with the same ETag have the same name', async () => {
  const { people, readers, paths } = await openNames()
  let isOver = false
  const byTag = new Map<string, string>()
  const watch = async (reader: Person) => {
    for (let last = 0; !isOver;) {
      const { body, headers } = await reader.get(paths[0]![0])
      const now = Number(body.owner.name.match(/\d+$/)?.[0] ?? 0)
      expect(now).toBeGreaterThanOrEqual(last)
      const tag = headers.get('etag')!
      expect(byTag.get(tag) ?? body.owner.name).toBe(body.owner.name)
      byTag.set(tag, body.owner.name)
      last = now
    }
  }
  const watching = readers.flatMap((reader) => upTo(3).map(() => watch(reader)))
  for (const n of upTo(cases(30))) await people[0]!.patch('/auth/me', { name: `Name ${n}` })
  isOver = true
  await Promise.all(watching)
  expect(byTag.size).toBeGreaterThan(10)
})

async function underLoad(projectId: string, work: () => Promise<unknown>): Promise<void> {
  const load = startLoad({ clients: [atA, atB], projectIds: [projectId], writers: 8 })
  await load.acknowledged(20)
  await work().finally(() => load.stop())
}

async function writeAndRead(projectId: string, here: Person, there: Person): Promise<void> {
  const task = await make(here, '/tasks', { title: 'Fresh', priority: 'HIGH', projectId })
  const path = `/tasks/${task.id}`
  const list = `/tasks?projectId=${projectId}&priority=HIGH&limit=200`
  const known = await there.get(path)
  expect(known.body).toEqual(task)
  // Tasks of the load have the default priority, so they cannot push the fresh task out of the page.
  const listed = await there.get(list)
  expect(listed.text).toContain(task.id)
  await here.patch(path, { title: 'Changed', status: 'DONE' })
  for (const { headers } of [known, listed]) {
    const now = await there.get(headers === known.headers ? path : list, {
      'if-none-match': headers.get('etag')!,
    })
    expect([now.status, now.text]).toEqual([200, expect.stringContaining('"Changed"')])
  }
  const subtask = await make(here, `${path}/subtasks`, { title: 'Sub' })
  expect((await there.get(`${path}/subtasks`)).body).toEqual([subtask] as never)
  const comment = await make(here, `${path}/comments`, { text: 'Words' })
  expect((await there.get(`${path}/comments`)).body).toEqual([comment] as never)
  await here.delete(path)
  expect((await there.get(path)).status).toBe(404)
}

test('under load, a read at one process returns every write that the other process has acknowledged, and never 304', async () => {
  const { id } = await make(atA, '/projects', { name: 'Busy' })
  await underLoad(id, async () => {
    for (const _ of upTo(cases(2)))
      await Promise.all(upTo(8).map((n) => (n % 2 ? writeAndRead(id, atA, atB) : writeAndRead(id, atB, atA))))
  })
})
