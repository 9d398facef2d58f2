import { expectError, invite, make, openScene, openTestService, register, withToken } from '../kit.ts'
import type { Answer, Client, TestService } from '../kit.ts'
import { expectEvents } from './feed.ts'

const { service, client, ada } = await openScene(['Ada'])

const openProject = async (owner: Client = ada) => (await make(owner, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const feedPath = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const read = (after: object, more: object, by: Client = ada) => by.post('/events/read', { after, ...more })
const typesIn = ({ body }: { body: object }) => (body as { type: string }[]).map(({ type }) => type)

/** Sends a request, and returns its pending response as soon as the request waits in the service. */
async function startHeld(
  send: () => Promise<Answer>,
  { services: { subscriptions } }: TestService = service,
) {
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
const holdFeed = (by: Client, path: string, at = service) => startHeld(() => by.get(path), at)
const holdRead = (after: object, by: Client = ada) => startHeld(() => read(after, { wait: 25 }, by))

type Poll = (by: Client, projectId: string, after: number, wait: number) => Promise<Answer>
const polls: [name: string, poll: Poll, empty: (projectId: string) => unknown][] = [
  ['a feed', (by, id, after, wait) => by.get(feedPath(id, `after=${after}&wait=${wait}`)), () => []],
  [
    'a read of several projects',
    (by, id, after, wait) => read({ [id]: after }, { wait }, by),
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
  const { answer } = await startHeld(() => poll(grace, projectId, 2, 25))
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

test('returns existing events immediately, or waits for the next event of its types in any of its projects', async () => {
  const [one, other] = [await openProject(), await openProject()]
  expect(typesIn(await ada.get(feedPath(one, 'wait=25')))).toEqual(['project.created'])
  const next = await holdFeed(ada, feedPath(one, 'after=1&wait=25'))
  const comments = await holdFeed(ada, feedPath(one, 'types=comment.created&wait=25'))
  const both = await holdRead({ [one]: 1, [other]: 1 })
  const task = await addTask(one)
  const answer = await next.answer
  expect([typesIn(answer), answer.headers.get('docket-version')]).toEqual([['task.created'], '2'])
  const found = expectEvents(await both.answer)
  expect(found.events.map(({ projectId, seq }) => [projectId, seq])).toEqual([[one, 2]])
  expect(found.after).toEqual({ [one]: 2, [other]: 1 })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(typesIn(await comments.answer)).toEqual(['comment.created'])
})

test('a long poll ends when the caller is removed or the project is deleted', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const grace = await register(client)
  const member = await invite(ada, one, grace)
  await invite(ada, other, grace)
  const feed = await holdFeed(grace, feedPath(one, 'after=2&wait=25'))
  const events = await holdRead({ [one]: 2, [other]: 2 }, grace)
  await ada.delete(`/projects/${one}/members/${member.id}`)
  expect((await feed.answer).status).toBe(404)
  expect(expectEvents(await events.answer)).toEqual({ events: [], after: { [other]: 2 }, gone: [one] })
  const ownersFeed = await holdFeed(ada, feedPath(other, 'after=2&wait=25'))
  const membersEvents = await holdRead({ [other]: 2 }, grace)
  await ada.delete(`/projects/${other}`)
  expect((await ownersFeed.answer).status).toBe(404)
  expect(expectEvents(await membersEvents.answer)).toEqual({ events: [], after: {}, gone: [other] })
})

test('the long polls of an account are limited for all its tokens together, and a hundred projects count as one', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '2' })
  const [owner, other] = [await register(small.client), await register(small.client)]
  const id = await openProject(owner)
  await invite(owner, id, other)
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => withToken(owner, { scopes: ['read'] })))
  const path = feedPath(id, 'after=2&wait=25')
  const waiting = [await holdFeed(one!, path, small), await holdFeed(two!, path, small)]
  const rejected = await three!.get(path)
  expectError(rejected, 429, 'Too many requests that wait for events of this account are in progress')
  expect(rejected.headers.get('retry-after')).toBe('1')
  waiting.push(await holdFeed(other, path, small))
  const ids = await Promise.all(Array.from({ length: 101 }, () => openProject(other)))
  const after = Object.fromEntries(ids.map((one) => [one, 1]))
  expect((await read(after, { wait: 1 }, other)).status).toBe(429)
  delete after[ids[0]!]
  expect((await read(after, { wait: 1 }, other)).status).toBe(200)
  small.services.subscriptions.end()
  for (const { answer } of waiting) expect((await answer).text).toBe('[]')
})

test('the number of long polls in a process is limited, and the process ends all long polls when it stops', async () => {
  await using small = await openTestService({ SUBSCRIBERS: '1' })
  const owner = await register(small.client)
  const path = feedPath(await openProject(owner), 'after=1&wait=25')
  const { answer } = await holdFeed(owner, path, small)
  expect((await owner.get(path)).status).toBe(503)
  small.services.subscriptions.end()
  expect((await answer).text).toBe('[]')
  expect((await owner.get(path)).text).toBe('[]')
})
