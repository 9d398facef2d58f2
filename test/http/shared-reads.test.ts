import { expect, test } from 'bun:test'
import { type Client, invite, make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { listenIn, take } from './listen.ts'
import { noteQueries } from './noting.ts'

const listeners = 40
const rounds = 10
/** How often it was asked whether somebody may see a project. */
let looks = 0
/** How often it was asked whether a project is as it was. */
let comparisons = 0
const service = await forFile(openTestService())
const { services } = service
const texts: string[] = noteQueries(services)
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
Object.assign(services.authenticate, { isBelieved: () => true })
const other = await forFile(openTestService(service.env))
const ada = await register(service.client)

/** Has many listen to a project, and gives what was asked of the database for each of some writes by one of the processes. */
async function askedFor(writer: Client) {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(service.client)
  await invite(ada, projectId, grace)
  const all = []
  for (let i = 0; i < listeners; i++) all.push(await listenIn(service, i % 2 ? ada : grace, projectId))
  const asked = []
  let names = 0
  for (let round = 0; round < rounds; round++) {
    texts.length = 0
    ;[looks, comparisons] = [0, 0]
    const heard = Promise.all(all.map((messages) => take(messages, 1)))
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
  expect(asked).toEqual(Array(rounds).fill({ reads: 1, looks: 2, comparisons: 0 }))
  expect(names).toBeLessThan(2)
})

test('what this process committed is not read back, and nobody is asked for who has kept their rights', async () => {
  const { asked, names } = await askedFor(ada)
  expect(asked).toEqual(Array(rounds).fill({ reads: 0, looks: 0, comparisons: 0 }))
  expect(names).toBeLessThan(2)
})
