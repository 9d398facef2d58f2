import { forFile, invite, make, openStreamIn, openTestService, register, takeEvents } from '../kit.ts'
import type { Client, Person, Sql } from '../kit.ts'

const streams = 40
const rounds = 10
let roleChecks = 0
let versionChecks = 0
const service = await forFile(openTestService())
const { services } = service
const texts: string[] = []
services.database.reads = new Proxy<Sql>(services.database.reads, {
  apply(target, self, args: [TemplateStringsArray | string, ...unknown[]]) {
    // A call with a string names a column; other calls are queries.
    if (typeof args[0] !== 'string') texts.push(args[0].join('?'))
    return Reflect.apply(target, self, args)
  },
})
const { findRole } = services
services.findRole = (...args) => {
  roleChecks += 1
  return findRole(...args)
}
const { renamingIfCurrent } = services.versions
services.versions.renamingIfCurrent = (one) => {
  versionChecks += 1
  return renamingIfCurrent(one)
}
// A pause of the process must not let events expire.
services.recent['recent'].ttl = 60_000
// Prevents cached names from expiring in a slow round.
Object.assign(services.authenticate, { isFresh: () => true })
const other = await forFile(openTestService(service.env))
const ada = await register(service.client)

/** Opens many streams of one project, and returns the database reads for each of ten writes. */
async function readsPerWrite(writer: Client) {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(service.client)
  await invite(ada, projectId, grace)
  const all = []
  for (let i = 0; i < streams; i++) all.push(await openStreamIn(service, i % 2 ? ada : grace, projectId))
  const perWrite = []
  let names = 0
  for (let round = 0; round < rounds; round++) {
    texts.length = 0
    ;[roleChecks, versionChecks] = [0, 0]
    const received = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await make(writer, '/tasks', { title: `T${round}`, projectId })
    for (const [event] of await received) expect(event).toMatchObject({ id: String(round + 3) })
    const count = (part: string) => texts.filter((text) => text.includes(part)).length
    perWrite.push({ reads: count('from events e'), roleChecks, versionChecks })
    names += count('from users where id')
  }
  return { perWrite, names }
}

/** A poll of versions that began before a write, or a pause of the process, may cost further reads in a round. */
function expectMostly(perWrite: object[], expected: object): void {
  const others = perWrite.filter((cost) => !Bun.deepEquals(cost, expected))
  expect(others.length > 2 ? others : []).toEqual([])
}

test('an event from another process is read once for all streams, and each account is authorized once per event', async () => {
  const { perWrite, names } = await readsPerWrite(other.client.as(ada.token))
  expectMostly(perWrite, { reads: 1, roleChecks: 2, versionChecks: 2 })
  expect(names).toBeLessThan(2)
})

test('events from this process need neither reads nor authorization while the members do not change', async () => {
  const { perWrite, names } = await readsPerWrite(ada)
  expectMostly(perWrite, { reads: 0, roleChecks: 0, versionChecks: 0 })
  expect(names).toBeLessThan(2)
})

async function createProject() {
  const grace = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const { id: wheel } = await make(ada, '/tasks', { title: 'Wheel', projectId })
  const { id: axle } = await make(ada, '/tasks', { title: 'Axle', projectId })
  const { id: memberId } = await invite(ada, projectId, grace)
  const wheelOf = (person: Person) => person.get(`/tasks/${wheel}`)
  return { grace, projectId, wheel, axle, memberId, wheelOf }
}
const rename = (id: string, title: string) => ada.patch(`/tasks/${id}`, { title })

test('a cached task is read again after it changes, but not after other tasks change', async () => {
  const { grace, wheel, axle, wheelOf } = await createProject()
  const expectTitle = async (title: string) => {
    for (const person of [ada, grace]) expect((await wheelOf(person)).body).toMatchObject({ title })
  }
  await expectTitle('Wheel')
  texts.length = 0
  for (const title of ['Shaft', 'Rod', 'Beam']) {
    await rename(axle, title)
    await make(ada, `/tasks/${wheel}/comments`, { text: title })
    await expectTitle('Wheel')
  }
  expect(texts).toEqual([])
  await rename(wheel, 'Cog')
  await expectTitle('Cog')
  expect(texts.length).toBeGreaterThan(0)
})

test("after a write, a list is read from the database again, but the caller's role is not", async () => {
  const { grace, projectId, wheel } = await createProject()
  const { roles } = services.counts.caches
  const list = () => grace.get(`/tasks?projectId=${projectId}`)
  await list()
  const { misses } = roles
  for (const title of ['Cog', 'Gear']) {
    await rename(wheel, title)
    expect((await list()).body).toMatchObject([{ title }, { title: 'Axle' }])
  }
  expect(roles.misses).toBe(misses)
})

test('a member that is removed between two other writes gets 404 for every read', async () => {
  const { grace, projectId, wheel, axle, memberId } = await createProject()
  const reads = [`/tasks/${wheel}`, `/tasks?projectId=${projectId}`, `/projects/${projectId}`]
  for (const path of reads) expect((await grace.get(path)).status).toBe(200)
  await rename(axle, 'Shaft')
  expect((await ada.delete(`/projects/${projectId}/members/${memberId}`)).status).toBe(200)
  await rename(axle, 'Rod')
  for (const path of reads) expect([path, (await grace.get(path)).status]).toEqual([path, 404])
})

test('members of the new project can read a moved task, and users who are only members of the old project cannot', async () => {
  const { grace, wheel, axle, wheelOf } = await createProject()
  const { id: other } = await make(ada, '/projects', { name: 'Mill' })
  for (const person of [ada, grace]) await wheelOf(person)
  await rename(axle, 'Shaft')
  await ada.patch(`/tasks/${wheel}`, { projectId: other })
  await rename(axle, 'Rod')
  expect((await wheelOf(ada)).body).toMatchObject({ projectId: other })
  expect((await wheelOf(grace)).status).toBe(404)
})
