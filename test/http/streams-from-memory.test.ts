import { forFile, invite, make, openScene, openStreamIn, openTestService, register } from '../kit.ts'
import { takeEvents, upTo } from '../kit.ts'
import type { Client } from '../kit.ts'

const { service, ada } = await openScene(['Ada'])
const other = await forFile(openTestService(service.env))
const { counts } = service.services

/** A project with a task, and with Grace as a member: events 1 to 3. */
async function openShared() {
  const grace = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(ada, projectId, grace)
  const task = await make(ada, '/tasks', { title: 'Wheel', projectId })
  return { grace, projectId, memberId, task }
}
const create = (projectId: string, title: string, by: Client = ada) =>
  make(by, '/tasks', { title, projectId })

const rounds = 10

/** Opens 40 streams of one project. Returns how many queries ten writes cost, with the events that the streams send. */
async function queriesOf(writer: Client): Promise<number> {
  const { grace, projectId } = await openShared()
  const all = []
  for (const n of upTo(40)) all.push(await openStreamIn(service, n % 2 ? ada : grace, projectId))
  const before = counts.queries.reads.total
  for (const round of upTo(rounds)) {
    const received = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await create(projectId, `T${round}`, writer)
    for (const [event] of await received) expect(event).toMatchObject({ id: String(round + 3) })
  }
  const { total } = counts.queries.reads
  for (const messages of all) await messages.return()
  return total - before
}

test('an event is read and authorized once for all streams of an account, or not at all if this process wrote it', async () => {
  expect(await queriesOf(other.client.as(ada.token))).toBeLessThan(10 * rounds)
  expect(await queriesOf(ada)).toBeLessThan(2 * rounds)
})

test('a cached read ends when its row changes or moves, and when its reader is removed between other writes', async () => {
  const { grace, projectId, memberId, task } = await openShared()
  const axle = await create(projectId, 'Axle')
  const { id: elsewhere } = await make(ada, '/projects', { name: 'Mill' })
  const reads = [`/tasks/${task.id}`, `/tasks?projectId=${projectId}`, `/projects/${projectId}`]
  const rename = (id: string, title: string) => ada.patch(`/tasks/${id}`, { title })
  for (const title of ['Cog', 'Gear']) {
    await rename(task.id, title)
    for (const person of [ada, grace]) {
      expect((await person.get(reads[0]!)).body).toMatchObject({ title })
      expect((await person.get(reads[1]!)).body).toMatchObject([{ title }, { title: 'Axle' }])
    }
  }
  await rename(axle.id, 'Shaft')
  await ada.patch(`/tasks/${task.id}`, { projectId: elsewhere })
  await rename(axle.id, 'Rod')
  expect((await ada.get(reads[0]!)).body).toMatchObject({ projectId: elsewhere })
  expect((await grace.get(reads[0]!)).status).toBe(404)
  await ada.patch(`/tasks/${task.id}`, { projectId })
  for (const path of reads) expect((await grace.get(path)).status).toBe(200)
  await rename(axle.id, 'Shaft')
  expect((await ada.delete(`/projects/${projectId}/members/${memberId}`)).status).toBe(200)
  await rename(axle.id, 'Rod')
  for (const path of reads) expect([path, (await grace.get(path)).status]).toEqual([path, 404])
})
