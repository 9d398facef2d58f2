import { expect, test } from 'bun:test'
import { openFeedLongPoll } from '../../modules/events/long-poll.ts'
import { Scheduler } from '../../src/admission/scheduler.ts'
import {
  type Answer,
  type Client,
  invite,
  make,
  type Person,
  register,
  withToken,
} from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { openTestService } from '../support/service.ts'
import { expectError } from './responses.ts'
import { startHeldRequest } from './held-request.ts'
import { expectEvents } from './read-events.ts'

const { service, client, ada } = await openScene(['Ada'])

const openProject = async (who: Client = ada) => (await make(who, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const held = (who: Client, path: string, at = service) => startHeldRequest(at, () => who.get(path))
const read = (after: object, more = {}, who: Client = ada) => who.post('/events/read', { after, ...more })
const heldRead = (after: object, who: Client = ada) =>
  startHeldRequest(service, () => read(after, { wait: 25 }, who))
const typesIn = ({ body }: { body: object }) => (body as { type: string }[]).map(({ type }) => type)

type Ask = (who: Client, projectId: string, after: number, wait: number) => Promise<Answer>
const asks: [what: string, ask: Ask, nothing: (projectId: string) => unknown][] = [
  ['a feed', (who, id, after, wait) => who.get(feedOf(id, `after=${after}&wait=${wait}`)), () => []],
  [
    'a read of many feeds',
    (who, id, after, wait) => read({ [id]: after }, { wait }, who),
    (id) => ({ events: [], after: { [id]: 1 }, gone: [] }),
  ],
]

test.each(asks)(
  '%s: where nothing comes the answer is empty when the time is up',
  async (_, ask, nothing) => {
    const projectId = await openProject()
    const began = performance.now()
    const { body, headers } = await ask(ada, projectId, 1, 1)
    expect([body as unknown, headers.get('link')]).toEqual([nothing(projectId), null])
    expect(performance.now() - began).toBeGreaterThan(900)
  },
)

test.each(asks)('%s: a token that ends meanwhile gets nothing more', async (_, ask) => {
  const projectId = await openProject()
  const grace = await register(client)
  await invite(ada, projectId, grace)
  const { answer } = await startHeldRequest(service, () => ask(grace, projectId, 2, 25))
  await grace.post('/auth/logout')
  await addTask(projectId)
  expect((await answer).status).toBe(401)
})

test('what is there is answered at once, and what comes when it comes', async () => {
  const projectId = await openProject()
  expect(typesIn(await ada.get(feedOf(projectId, 'wait=25')))).toEqual(['project.created'])
  const { answer } = await held(ada, feedOf(projectId, 'after=1&wait=25'))
  await addTask(projectId)
  const came = await answer
  expect([typesIn(came), came.headers.get('docket-version')]).toEqual([['task.created'], '2'])
})

test('who waits for some types is not answered with others', async () => {
  const projectId = await openProject()
  const { answer } = await held(ada, feedOf(projectId, 'types=comment.created&wait=25'))
  const task = await addTask(projectId)
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(typesIn(await answer)).toEqual(['comment.created'])
})

test('who waits for some types is answered at the first wake-up after such an event', async () => {
  const projectId = await openProject()
  const { services } = service
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${ada.token}` } })
  const caller = await services.authenticate.caller(request)
  const { id } = await addTask(projectId)
  let wakeUps = 0
  const waitForNewer = async () => {
    if (++wakeUps > 2) throw new Error('The second event was of the type')
    if (wakeUps === 1) await ada.patch(`/tasks/${id}`, { title: 'Other' })
    else await make(ada, `/tasks/${id}/comments`, { text: 'Oil it' })
    return undefined
  }
  const subscribe = () => ({ waitForNewer, resetTo() {}, end() {} }) as never
  const hold = openFeedLongPoll({ ...services, subscriptions: { ...services.subscriptions, subscribe } })
  const first = (await services.findRole(caller, projectId))!
  const asked = { after: 0, limit: 10, types: ['comment.created'], waitMs: 60_000 }
  const permit = new Scheduler().acquire(caller.userId)
  const reading = { request, caller, params: {}, query: {}, permit: await permit }
  expect(await hold(reading as never, first, asked)).toMatchObject({ version: 4 })
})

test('who has lost the right to see a project is told so instead', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const grace = await register(client)
  const member = await invite(ada, one, grace)
  await invite(ada, other, grace)
  const ofFeed = await held(grace, feedOf(one, 'after=2&wait=25'))
  const ofMany = await heldRead({ [one]: 2, [other]: 2 }, grace)
  await ada.delete(`/projects/${one}/members/${member.id}`)
  expect((await ofFeed.answer).status).toBe(404)
  expect(expectEvents(await ofMany.answer)).toEqual({ events: [], after: { [other]: 2 }, gone: [one] })
  const owning = await held(ada, feedOf(other, 'after=2&wait=25'))
  const again = await heldRead({ [other]: 2 }, grace)
  await ada.delete(`/projects/${other}`)
  expect((await owning.answer).status).toBe(404)
  expect(expectEvents(await again.answer)).toEqual({ events: [], after: {}, gone: [other] })
})

test('a wait has bounds', async () => {
  const projectId = await openProject()
  for (const wait of ['26', '-1', '1.5', 'long', '']) {
    const { body } = await ada.get(feedOf(projectId, `wait=${wait}`))
    expect(body.message).toStartWith('wait must be a whole number from 0 to 25')
  }
})

test('an account has so many places with all its tokens', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '2' })
  const [owner, other] = [await register(small.client), await register(small.client)]
  const id = await openProject(owner)
  await invite(owner, id, other)
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => withToken(owner, { scopes: ['read'] })))
  const path = feedOf(id, 'after=2&wait=25')
  const waiting = [await held(one!, path, small), await held(two!, path, small)]
  const message = 'Too many requests that wait for events of this account are in progress'
  expectError(await three!.get(path), 429, message)
  waiting.push(await held(other, path, small))
  small.services.subscriptions.end()
  for (const { answer } of waiting) expect((await answer).text).toBe('[]')
})

test('so many wait and no more, and all are answered when the service ends', async () => {
  await using small = await openTestService({ SUBSCRIBERS: '2', SUBSCRIBERS_PER_ACCOUNT: '1' })
  const people = [await register(small.client), await register(small.client), await register(small.client)]
  const [first, second, third] = people as [Person, Person, Person]
  const id = await openProject(first)
  for (const one of [second, third]) await invite(first, id, one)
  const path = feedOf(id, 'after=3&wait=25')
  const one = await held(first, path, small)
  const again = await first.get(path)
  expect([again.status, again.headers.get('retry-after')]).toEqual([429, '1'])
  const other = await held(second, path, small)
  expect((await third.get(path)).status).toBe(503)
  small.services.subscriptions.end()
  for (const { answer } of [one, other]) expect((await answer).text).toBe('[]')
  expect((await third.get(path)).text).toBe('[]')
})

test('an answer that has nothing to tell is held until there is something in any of the projects', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const { answer } = await heldRead({ [one]: 1, [other]: 1 })
  await addTask(other)
  const found = expectEvents(await answer)
  expect(found.events.map(({ projectId, seq }) => [projectId, seq])).toEqual([[other, 2]])
  expect(found.after).toEqual({ [one]: 1, [other]: 2 })
})

test('who waits for many projects takes a seat for each hundred of them', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '1' })
  const bea = await register(small.client)
  const ids: string[] = []
  for (let i = 0; i < 101; i++) ids.push(await openProject(bea))
  const after = Object.fromEntries(ids.map((id) => [id, 1]))
  expect((await read(after, { wait: 1 }, bea)).status).toBe(429)
  delete after[ids[0]!]
  expect((await read(after, { wait: 1 }, bea)).status).toBe(200)
})
