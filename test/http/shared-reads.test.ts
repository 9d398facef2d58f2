import { forFile, invite, make, openStreamIn, openTestService, register, takeEvents } from '../kit.ts'
import type { Client, Person } from '../kit.ts'

const streams = 40
const rounds = 10
const service = await forFile(openTestService())
const { caches, queries } = service.services.counts
const other = await forFile(openTestService(service.env))
const ada = await register(service.client)

/** Opens many streams of one project. Returns how many queries ten writes cost, with the events that the streams send. */
async function queriesOf(writer: Client): Promise<number> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(service.client)
  await invite(ada, projectId, grace)
  const all = []
  for (let i = 0; i < streams; i++) all.push(await openStreamIn(service, i % 2 ? ada : grace, projectId))
  const before = queries.reads.total
  for (let round = 0; round < rounds; round++) {
    const received = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await make(writer, '/tasks', { title: `T${round}`, projectId })
    for (const [event] of await received) expect(event).toMatchObject({ id: String(round + 3) })
  }
  const { total } = queries.reads
  for (const messages of all) await messages.return()
  return total - before
}

test('an event from another process is read and authorized once for all streams of an account', async () => {
  expect(await queriesOf(other.client.as(ada.token))).toBeLessThan((streams * rounds) / 4)
})

test('events from this process need neither reads nor authorization while the members do not change', async () => {
  expect(await queriesOf(ada)).toBeLessThan(2 * rounds)
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
  const { misses } = caches.bodies
  for (const title of ['Shaft', 'Rod', 'Beam']) {
    await rename(axle, title)
    await make(ada, `/tasks/${wheel}/comments`, { text: title })
    await expectTitle('Wheel')
  }
  expect(caches.bodies.misses).toBe(misses)
  await rename(wheel, 'Cog')
  await expectTitle('Cog')
  expect(caches.bodies.misses).toBe(misses + 1)
})

test("after a write, a list is read from the database again, but the caller's role is not", async () => {
  const { grace, projectId, wheel } = await createProject()
  const { roles } = caches
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
