import { beforeEach, expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { maxListedProjects } from '../../src/subscriptions/visible-projects.ts'
import { make, register } from '../support/client.ts'
import { openStreamIn, type Message, parseMessages, streamBodyIn, takeEvents } from './streaming.ts'
import { openScene } from '../support/scene.ts'

let projectId: string
/** How often it was looked for what comes next, how often there is no room for that, and whether all is read back. */
let [reads, without, isReadBack] = [0, 0, false]
const { service, sql, ada } = await openScene(['Ada'])
const { recent } = service.services
const { after } = recent
recent.after = (range) => {
  reads += 1
  if (isReadBack) return undefined
  return reads > without ? after.call(recent, range) : []
}
beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Engine' })).id
  ;[reads, without, isReadBack] = [0, 0, false]
})

test('a stream that heard of a version that was lost looks for it once, and tells the one that takes its place', async () => {
  const messages = await openStreamIn(service, ada, projectId)
  const told = takeEvents(messages, 1)
  service.services.notifications.publish([{ projectId, version: 2 }])
  await eventually('a look for what was heard of', () => reads > 0)
  for (const _ of upTo(100)) await ada.get('/projects')
  expect(reads).toBe(1)
  await create('Draw')
  expect(await told).toMatchObject([{ id: '2', event: 'task.created' }])
  await messages.return()
})

test('a stream for whose events there was no room reads them again, until it has them', async () => {
  const messages = await openStreamIn(service, ada, projectId)
  const told = takeEvents(messages, 2)
  without = 3
  for (const title of ['Draw', 'Cut']) await create(title)
  expect(await told).toMatchObject([{ id: '2' }, { id: '3' }])
  expect(reads).toBeGreaterThan(without)
  await messages.return()
})

test('a stream that is ahead of what was kept ends once it hears of more', async () => {
  const messages = await openStreamIn(service, ada, projectId)
  await create('Draw')
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '2' }])
  await sql`delete from events where project_id = ${projectId} and seq = 2`
  await sql`update streams set version = 1, last_event_id =
    (select id from events where project_id = ${projectId} and seq = 1) where project_id = ${projectId}`
  service.services.notifications.publish([{ projectId, version: 3 }])
  expect(await takeEvents(messages, 9)).toMatchObject([{ event: 'end', data: { statusCode: 400 } }])
})

const create = (title: string) => make(ada, '/tasks', { title, projectId })
const ended = { event: 'end', data: { statusCode: 400, message: expect.stringContaining('is ahead') } }

/** What a promoted standby has that lost the versions after the first, and made as many of its own. */
async function otherHistory() {
  await sql`update events set id = gen_random_uuid() where project_id = ${projectId} and seq > 1`
  await sql`update streams s set last_event_id = e.id from events e
    where s.project_id = ${projectId} and e.project_id = s.project_id and e.seq = s.version`
}

for (const how of ['known here', 'read back'])
  test(`a stream whose last event was lost ends before it is told a later one that is ${how}`, async () => {
    const messages = await openStreamIn(service, ada, projectId)
    for (const title of ['Draw', 'Cut']) await create(title)
    expect(await takeEvents(messages, 2)).toMatchObject([{ id: '2' }, { id: '3' }])
    await otherHistory()
    isReadBack = how === 'read back'
    await create('Bend')
    expect(await takeEvents(messages, 1)).toMatchObject([ended])
  })

test('a stream of some types ends where an event was lost that it was not told', async () => {
  const messages = await openStreamIn(service, ada, projectId, '?types=comment.created')
  const told = takeEvents(messages, 1)
  await create('Draw')
  await eventually('a look at what it is not told', () => reads > 0)
  await otherHistory()
  const { id } = await create('Cut')
  await make(ada, `/tasks/${id}/comments`, { text: 'Sharp' })
  expect(await told).toMatchObject([ended])
})

test('a stream whose last event was lost ends where another one made the same version, and none came after', async () => {
  await create('Draw')
  const messages = await openStreamIn(service, ada, projectId)
  await otherHistory()
  service.services.notifications.publish([{ projectId, version: 3 }])
  expect(await takeEvents(messages, 1)).toMatchObject([ended])
})

test('a stream whose last event is not kept any more goes on', async () => {
  const messages = await openStreamIn(service, ada, projectId)
  await create('Draw')
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '2' }])
  isReadBack = true
  await sql`delete from events where project_id = ${projectId}`
  await create('Cut')
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '3', event: 'task.created' }])
  await messages.return()
})

test('who listens since a standby took over goes on, beside those who end', async () => {
  const before = [await openStreamIn(service, ada, projectId), await openStreamIn(service, ada, projectId)]
  await create('Draw')
  for (const messages of before) expect(await takeEvents(messages, 1)).toMatchObject([{ id: '2' }])
  await otherHistory()
  const since = await openStreamIn(service, ada, projectId)
  const told = Promise.all([...before, since].map((messages) => takeEvents(messages, 1)))
  await create('Cut')
  expect(await told).toMatchObject([[ended], [ended], [{ id: '3', event: 'task.created' }]])
  await since.return()
})

test('a stream that resumes beside others is told what they are', async () => {
  const others = [await openStreamIn(service, ada, projectId), await openStreamIn(service, ada, projectId)]
  for (const title of ['Draw', 'Cut']) await create(title)
  const messages = await openStreamIn(service, ada, projectId, '?after=1')
  const told = takeEvents(messages, 3)
  await create('Bend')
  expect(await told).toMatchObject([{ id: '2' }, { id: '3' }, { id: '4' }])
  for (const one of [...others, messages]) await one.return()
})

test('who may see more projects than are told is told so, then and from then on, and reads of the others', async () => {
  const bea = await register(service.client)
  // Projects that go before all that are made from now on.
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select ('019a0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${bea.id}, 'One of many', now(), uuidv7()
    from generate_series(1, ${maxListedProjects}::int) n`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select id, 1, 0, event_id from projects where owner_id = ${bea.id}`
  const openAll = async () => {
    const messages = parseMessages(await streamBodyIn(service, bea, '/events'))
    await messages.next()
    return messages
  }
  const next = async (messages: Awaited<ReturnType<typeof openAll>>, count: number) => {
    const all: Message[] = []
    while (all.length < count) all.push((await messages.next()).value!)
    return all
  }
  const before = await openAll()
  expect((await next(before, maxListedProjects)).map(({ event }) => event)).not.toContain('more')
  const { id } = await make(bea, '/projects', { name: 'Beyond' })
  const more = { event: 'more', data: { told: maxListedProjects } }
  expect(await next(before, 1)).toEqual([more as never])
  await before.return()
  const after = await openAll()
  expect((await next(after, maxListedProjects + 1)).at(-1)).toEqual(more as never)
  const { body } = await bea.post('/events/read', { after: { [id]: 0 } })
  expect(body).toMatchObject({ after: { [id]: 1 } } as object)
  await after.return()
})
