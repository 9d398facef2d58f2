import { expect, test } from 'bun:test'
import type { Sql } from '../../src/postgres/database.ts'
import { type Client, invite, make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { openStreamIn, takeEvents } from './streaming.ts'

const listeners = 40
const rounds = 10
/** How often it was asked whether somebody may see a project. */
let looks = 0
/** How often it was asked whether a project is as it was. */
let comparisons = 0
const service = await forFile(openTestService())
const { services } = service
const texts: string[] = []
services.database.reads = new Proxy<Sql>(services.database.reads, {
  apply(target, self, args: [TemplateStringsArray | string, ...unknown[]]) {
    if (typeof args[0] !== 'string') texts.push(args[0].join('?')) // a string names a column
    return Reflect.apply(target, self, args)
  },
})
const { findRole } = services
services.findRole = (...asked) => {
  looks += 1
  return findRole(...asked)
}
const { isCurrent } = services.versions
services.versions.isCurrent = (one) => {
  comparisons += 1
  return isCurrent(one)
}
// What was seen of names is believed however long a round takes.
Object.assign(services.authenticate, { isFresh: () => true })
const other = await forFile(openTestService(service.env))
const ada = await register(service.client)

/** Has many listen to a project, and gives what was asked of the database for each of some writes by one of the processes. */
async function askedFor(writer: Client) {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(service.client)
  await invite(ada, projectId, grace)
  const all = []
  for (let i = 0; i < listeners; i++) all.push(await openStreamIn(service, i % 2 ? ada : grace, projectId))
  const asked = []
  let names = 0
  for (let round = 0; round < rounds; round++) {
    texts.length = 0
    ;[looks, comparisons] = [0, 0]
    const heard = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await make(writer, '/tasks', { title: `T${round}`, projectId })
    for (const [event] of await heard) expect(event).toMatchObject({ id: String(round + 3) })
    const count = (part: string) => texts.filter((text) => text.includes(part)).length
    // The text that finds events is a part of that which bounds them.
    asked.push({ reads: count('from events e'), looks, comparisons })
    names += count('from users where id')
  }
  return { asked, names }
}

test('what many listen to is read and encoded once, and whether somebody may see it is asked once for all their streams', async () => {
  const { asked, names } = await askedFor(other.client.as(ada.token))
  expect(asked).toEqual(Array(rounds).fill({ reads: 1, looks: 2, comparisons: 2 }))
  expect(names).toBeLessThan(2)
})

test('what this process committed is not read back, and nobody is asked for who has kept their rights', async () => {
  const { asked, names } = await askedFor(ada)
  expect(asked).toEqual(Array(rounds).fill({ reads: 0, looks: 0, comparisons: 0 }))
  expect(names).toBeLessThan(2)
})

async function furnish() {
  const grace = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const [wheel, axle] = [
    (await make(ada, '/tasks', { title: 'Wheel', projectId })).id,
    (await make(ada, '/tasks', { title: 'Axle', projectId })).id,
  ]
  const { id: memberId } = await invite(ada, projectId, grace)
  const wheelOf = (person: Person) => person.get(`/tasks/${wheel}`)
  return { grace, projectId, wheel, axle, memberId, wheelOf }
}
const rename = (id: string, title: string) => ada.patch(`/tasks/${id}`, { title })

test('a task is read again when it changes, and not when others in its project do', async () => {
  const { grace, wheel, axle, wheelOf } = await furnish()
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

test('a list of a project that moved on asks for its rows, and not who may see them', async () => {
  const { grace, projectId, wheel } = await furnish()
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

test('who was removed between two writes about other things sees nothing more', async () => {
  const { grace, projectId, wheel, axle, memberId } = await furnish()
  const reads = [`/tasks/${wheel}`, `/tasks?projectId=${projectId}`, `/projects/${projectId}`]
  for (const path of reads) expect((await grace.get(path)).status).toBe(200)
  await rename(axle, 'Shaft')
  expect((await ada.delete(`/projects/${projectId}/members/${memberId}`)).status).toBe(200)
  await rename(axle, 'Rod')
  for (const path of reads) expect([path, (await grace.get(path)).status]).toEqual([path, 404])
})

test('a task that moved away is where it went, whatever was written before and after', async () => {
  const { grace, wheel, axle, wheelOf } = await furnish()
  const { id: other } = await make(ada, '/projects', { name: 'Mill' })
  for (const person of [ada, grace]) await wheelOf(person)
  await rename(axle, 'Shaft')
  await ada.patch(`/tasks/${wheel}`, { projectId: other })
  await rename(axle, 'Rod')
  expect((await wheelOf(ada)).body).toMatchObject({ projectId: other })
  expect((await wheelOf(grace)).status).toBe(404)
})
