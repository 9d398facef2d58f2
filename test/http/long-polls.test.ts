import { expectError, invite, make, openScene, openTestService, register, withToken } from '../kit.ts'
import type { Answer, Client, TestService } from '../kit.ts'
import { expectEvents } from './read-events.ts'

const { service, client, ada } = await openScene(['Ada'])

const openProject = async (owner: Client = ada) => (await make(owner, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const feedPath = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const pollFeed = (client: Client, path: string, at = service) => startHeldRequest(at, () => client.get(path))
const read = (after: object, more = {}, client: Client = ada) =>
  client.post('/events/read', { after, ...more })
const pollEvents = (after: object, client: Client = ada) =>
  startHeldRequest(service, () => read(after, { wait: 25 }, client))
const typesIn = ({ body }: { body: object }) => (body as { type: string }[]).map(({ type }) => type)

/** Sends a request, and returns its pending response as soon as the request waits in the service. */
async function startHeldRequest({ services: { subscriptions } }: TestService, send: () => Promise<Answer>) {
  const { subscribe } = subscriptions
  const { promise: isHeld, resolve } = Promise.withResolvers<void>()
  subscriptions.subscribe = (...args) => {
    resolve()
    return subscribe(...args)
  }
  const answer = send()
  await Promise.race([isHeld, answer])
  subscriptions.subscribe = subscribe
  return { answer }
}

type Poll = (client: Client, projectId: string, after: number, wait: number) => Promise<Answer>
const polls: [name: string, poll: Poll, empty: (projectId: string) => unknown][] = [
  ['a feed', (client, id, after, wait) => client.get(feedPath(id, `after=${after}&wait=${wait}`)), () => []],
  [
    'a read of several projects',
    (client, id, after, wait) => read({ [id]: after }, { wait }, client),
    (id) => ({ events: [], after: { [id]: 1 }, gone: [] }),
  ],
]

test.each(polls)('%s: returns an empty list if no event arrives in time', async (_, poll, empty) => {
  const projectId = await openProject()
  const start = performance.now()
  const { body, headers } = await poll(ada, projectId, 1, 1)
  expect([body as unknown, headers.get('link')]).toEqual([empty(projectId), null])
  expect(performance.now() - start).toBeGreaterThan(900)
})

test.each(polls)('%s: a long poll of a revoked token gets 401', async (_, poll) => {
  const projectId = await openProject()
  const grace = await register(client)
  await invite(ada, projectId, grace)
  const { answer } = await startHeldRequest(service, () => poll(grace, projectId, 2, 25))
  await grace.post('/auth/logout')
  await addTask(projectId)
  expect((await answer).status).toBe(401)
})

test.each(polls)(
  '%s: returns an event that is committed while the request begins to wait',
  async (_, poll) => {
    for (let turn = 0; turn < 40; turn++) {
      const projectId = await openProject()
      const waiting = poll(ada, projectId, 1, 25)
      for (let n = 0; n < turn; n++) await new Promise(setImmediate)
      await addTask(projectId)
      expect([turn, (await waiting).text.includes('task.created')]).toEqual([turn, true])
    }
  },
)

test('a long poll returns existing events immediately, or waits for the next event', async () => {
  const projectId = await openProject()
  expect(typesIn(await ada.get(feedPath(projectId, 'wait=25')))).toEqual(['project.created'])
  const poll = await pollFeed(ada, feedPath(projectId, 'after=1&wait=25'))
  await addTask(projectId)
  const answer = await poll.answer
  expect([typesIn(answer), answer.headers.get('docket-version')]).toEqual([['task.created'], '2'])
})

test('a long poll with a type filter does not return for other types', async () => {
  const projectId = await openProject()
  const { answer } = await pollFeed(ada, feedPath(projectId, 'types=comment.created&wait=25'))
  const task = await addTask(projectId)
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(typesIn(await answer)).toEqual(['comment.created'])
})

test('a long poll ends when the caller is removed or the project is deleted', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const grace = await register(client)
  const member = await invite(ada, one, grace)
  await invite(ada, other, grace)
  const feed = await pollFeed(grace, feedPath(one, 'after=2&wait=25'))
  const events = await pollEvents({ [one]: 2, [other]: 2 }, grace)
  await ada.delete(`/projects/${one}/members/${member.id}`)
  expect((await feed.answer).status).toBe(404)
  expect(expectEvents(await events.answer)).toEqual({ events: [], after: { [other]: 2 }, gone: [one] })
  const ownersFeed = await pollFeed(ada, feedPath(other, 'after=2&wait=25'))
  const membersEvents = await pollEvents({ [other]: 2 }, grace)
  await ada.delete(`/projects/${other}`)
  expect((await ownersFeed.answer).status).toBe(404)
  expect(expectEvents(await membersEvents.answer)).toEqual({ events: [], after: {}, gone: [other] })
})

test('wait must be a whole number from 0 to 25', async () => {
  const projectId = await openProject()
  const message = /^wait must be a whole number from 0 to 25/
  for (const wait of ['26', '-1', '1.5', 'long', ''])
    expectError(await ada.get(feedPath(projectId, `wait=${wait}`)), 400, message)
})

test('the number of long polls of an account is limited for all its tokens together', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '2' })
  const [owner, other] = [await register(small.client), await register(small.client)]
  const id = await openProject(owner)
  await invite(owner, id, other)
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => withToken(owner, { scopes: ['read'] })))
  const path = feedPath(id, 'after=2&wait=25')
  const waiting = [await pollFeed(one!, path, small), await pollFeed(two!, path, small)]
  const message = 'Too many requests that wait for events of this account are in progress'
  const rejected = await three!.get(path)
  expectError(rejected, 429, message)
  expect(rejected.headers.get('retry-after')).toBe('1')
  waiting.push(await pollFeed(other, path, small))
  small.services.subscriptions.end()
  for (const { answer } of waiting) expect((await answer).text).toBe('[]')
})

test('the number of long polls in a process is limited, and the process ends all long polls when it stops', async () => {
  await using small = await openTestService({ SUBSCRIBERS: '1' })
  const owner = await register(small.client)
  const id = await openProject(owner)
  const path = feedPath(id, 'after=1&wait=25')
  const { answer } = await pollFeed(owner, path, small)
  expect((await owner.get(path)).status).toBe(503)
  small.services.subscriptions.end()
  expect((await answer).text).toBe('[]')
  expect((await owner.get(path)).text).toBe('[]')
})

test('a long poll of several projects returns at the first event in any of them', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const { answer } = await pollEvents({ [one]: 1, [other]: 1 })
  await addTask(other)
  const found = expectEvents(await answer)
  expect(found.events.map(({ projectId, seq }) => [projectId, seq])).toEqual([[other, 2]])
  expect(found.after).toEqual({ [one]: 1, [other]: 2 })
})

test('a long poll of many projects counts as several long polls: one for every hundred projects', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '1' })
  const bea = await register(small.client)
  const ids: string[] = []
  for (let i = 0; i < 101; i++) ids.push(await openProject(bea))
  const after = Object.fromEntries(ids.map((id) => [id, 1]))
  expect((await read(after, { wait: 1 }, bea)).status).toBe(429)
  delete after[ids[0]!]
  expect((await read(after, { wait: 1 }, bea)).status).toBe(200)
})
