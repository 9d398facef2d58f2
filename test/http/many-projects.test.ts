import { expect, test } from 'bun:test'
import { mostTold } from '../../src/followers/standing.ts'
import { make } from '../support/client.ts'
import { type Message, messagesOf, streamIn } from './listen.ts'
import { openScene } from '../support/scene.ts'

const { service, sql, ada } = await openScene(['Ada'])

/** Projects that go before all that are made from now on. */
async function own(count: number): Promise<void> {
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select ('019a0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${ada.id}, 'One of many', now(), uuidv7()
    from generate_series(1, ${count}::int) n`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select id, 1, 0, event_id from projects where owner_id = ${ada.id}`
}

async function listen() {
  const messages = messagesOf(await streamIn(service, ada, '/events'))
  await messages.next()
  return messages
}

async function next(messages: AsyncGenerator<Message, void, void>, count: number): Promise<Message[]> {
  const all: Message[] = []
  while (all.length < count) all.push((await messages.next()).value!)
  return all
}

test('who may see more projects than are told is told so, then and from then on, and reads of the others', async () => {
  await own(mostTold)
  const before = await listen()
  const those = await next(before, mostTold)
  expect(those.map(({ event }) => event)).not.toContain('more')
  const { id } = await make(ada, '/projects', { name: 'Beyond' })
  const more = { event: 'more', data: { told: mostTold } }
  expect(await next(before, 1)).toEqual([more as never])
  await before.return()
  const after = await listen()
  expect((await next(after, mostTold + 1)).at(-1)).toEqual(more as never)
  const { body } = await ada.post('/events/read', { after: { [id]: 0 } })
  expect(body).toMatchObject({ after: { [id]: 1 } } as object)
  await after.return()
})
