import { cases, eventually, expectError, forFile, invite, make, makeTasks, openScene } from '../kit.ts'
import { openStreamIn, openTestService, parseMessages, Random, readFeed, register } from '../kit.ts'
import { streamBodyIn, takeEvents, upTo, withToken } from '../kit.ts'
import type { Answer, Client, Person } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { expectEvents, type FeedEvent } from './feed.ts'
import { otherWays, type Reading, waitingWays } from './feed-ways.ts'

const { service, client, ada, bea, cy } = await openScene(['Ada', 'Bea', 'Cy'])
const other = await forFile(openTestService(service.env))
// Without Redis this process gets no notifications, so it polls Postgres.
const polling = await forFile(openTestService({ ...service.env, REDIS_URL: 'redis://127.0.0.1:1' }))
const { counts, subscriptions } = service.services

const openProject = async (by: Client = ada) => (await make(by, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string, by: Client = ada) => make(by, '/tasks', { title: 'Draw', projectId })
const feedPath = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const read = (after: object, more: object, by: Client = ada) => by.post('/events/read', { after, ...more })
const seqsOf = (events: { seq: number }[]) => events.map(({ seq }) => seq)

const writes = 10

/** Opens 40 streams of one project. Returns how many queries ten writes cost, with the events that the streams send. */
async function queriesOf(writer: Client): Promise<number> {
  const projectId = await openProject()
  await invite(ada, projectId, bea)
  const all = []
  for (const n of upTo(40)) all.push(await openStreamIn(service, n % 2 ? ada : bea, projectId))
  const before = counts.queries.reads.total
  for (const n of upTo(writes)) {
    const received = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await addTask(projectId, writer)
    for (const [event] of await received) expect(event).toMatchObject({ id: String(n + 2) })
  }
  const { total } = counts.queries.reads
  for (const messages of all) await messages.return()
  return total - before
}

test('an event is read and authorized once for all streams of an account, or not at all if this process wrote it', async () => {
  expect(await queriesOf(other.client.as(ada.token))).toBeLessThan(10 * writes)
  expect(await queriesOf(ada)).toBeLessThan(2 * writes)
})

test('every way to read, in every process, returns the events of others exactly once, in order and with the same content', async () => {
  const rename = (n: number) => bea.patch('/auth/me', { name: `Bea ${n} "the\\” — ü` })
  await rename(0)
  const world = await startRandomWrites(new Random(11), [cy, ada, bea])
  const ids = world.projects.map(({ id }) => id)
  const types = ['task.created', 'task.updated', 'task.moved_in', 'subtask.created']
  const filters: Reading['filter'][] = [
    {},
    { exceptActor: 'me' },
    { exceptActor: bea.id.toUpperCase(), types },
  ]
  const open = (ways: typeof waitingWays | typeof otherWays) =>
    Object.entries(ways).flatMap(([name, way], n) =>
      [service, other, polling].map((at, p) => {
        const filter = filters[(n + p) % filters.length]!
        const read = way({ service: at, by: ada, ids, filter })
        return { name: `${name} at process ${p}`, filter, read, isWriter: at === service }
      }),
    )
  const [waiting, others] = [open(waitingWays), open(otherWays)]
  const versions = ids.map(() => 0)
  for (const wave of upTo(4)) {
    const isLast = ({ after }: FeedEvent) => after?.title === `End of wave ${wave}`
    const begun = waiting.map((one) => one.read(isLast))
    // No undo of a random write reaches the invitations.
    if (wave === 1) for (const id of ids) await makeTasks(cy, id, 150)
    else await writeRandomly(world, cases(40))
    for (const projectId of ids) await make(cy, '/tasks', { projectId, title: `End of wave ${wave}` })
    const whole = await Promise.all(ids.map((id, n) => readFeed(cy, feedPath(id, `after=${versions[n]}`))))
    for (const [n, events] of whole.entries()) {
      expect(seqsOf(events)).toEqual(upTo(events.length).map((seq) => versions[n]! + seq))
      versions[n]! += events.length
    }
    const received = await Promise.all([...begun, ...others.map((one) => one.read(isLast))])
    for (const [n, { name, filter, isWriter }] of [...waiting, ...others].entries()) {
      const actor = filter.exceptActor === 'me' ? ada.id : filter.exceptActor?.toLowerCase()
      const isShown = (one: FeedEvent) =>
        one.actor.id !== actor && (!filter.types || filter.types.includes(one.type))
      const [found, expected] = [received[n]!, whole.map((events) => events.filter(isShown))]
      expect([wave, name, found.map(seqsOf)]).toEqual([wave, name, expected.map(seqsOf)])
      // Other processes may show the previous name of a person for a moment.
      const textOf = (events: FeedEvent[][]) =>
        isWriter ? JSON.stringify(events) : JSON.stringify(events).replaceAll(/"Bea \d/g, '"Bea')
      expect(textOf(found)).toBe(textOf(expected))
    }
    await rename(wave)
  }
})

/** Ends the access of a reader. */
type End = (at: { by: Person; reader: Person; projectId: string; memberId: string }) => Promise<Answer>
const endings: [how: string, status: number, end: End][] = [
  [
    'is removed',
    404,
    ({ by, projectId, memberId }) => by.delete(`/projects/${projectId}/members/${memberId}`),
  ],
  ['signs out', 401, ({ reader }) => reader.post('/auth/logout')],
  ['reads a project that is deleted', 404, ({ by, projectId }) => by.delete(`/projects/${projectId}`)],
]

test.each(endings)(
  'a reader who %s gets %d and no later event, by whichever process',
  async (_, status, end) => {
    for (const by of [ada, { ...ada, ...other.client.as(ada.token) }]) {
      const reader = await register(client)
      const projectId = await openProject()
      const { id: memberId } = await invite(ada, projectId, reader)
      const stream = await openStreamIn(service, reader, projectId)
      const versions = parseMessages(await streamBodyIn(service, reader, '/events'))
      const nextVersion = async () =>
        ((await versions.next()).value!.data as { version?: unknown } | undefined)?.version
      while ((await nextVersion()) === undefined);
      for (const seq of [3, 4]) {
        await addTask(projectId)
        expect(await takeEvents(stream, 1)).toMatchObject([{ id: `${seq}`, event: 'task.created' }])
      }
      const before = subscriptions.inProgress()
      const poll = reader.get(feedPath(projectId, 'after=4&wait=25'))
      const many = read({ [projectId]: 4 }, { wait: 25 }, reader)
      await eventually('both long polls', () => subscriptions.inProgress() === before + 2)
      expect((await end({ by, reader, projectId, memberId })).status).toBe(200)
      await ada.post('/tasks', { title: 'Secret', projectId })
      const ended = { event: 'end', data: { statusCode: status } }
      expect(await takeEvents(stream, 9)).toMatchObject([ended])
      expect((await poll).status).toBe(status)
      if (status === 401) {
        expect((await many).status).toBe(401)
        expect(await takeEvents(versions, 9)).toMatchObject([ended])
        continue
      }
      expect(expectEvents(await many)).toEqual({ events: [], after: {}, gone: [projectId] })
      while ((await nextVersion()) !== null);
      await versions.return()
    }
  },
)

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
  expect((await poll(ada, projectId, 1, 1)).body as unknown).toEqual(empty(projectId))
  expect(performance.now() - start).toBeGreaterThan(900)
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

test('the long polls of an account are limited for all its tokens together, and a hundred projects count as one', async () => {
  await using small = await openTestService({ SUBSCRIBERS_PER_ACCOUNT: '2', SUBSCRIBERS: '4' })
  const [owner, guest, third] = await Promise.all(upTo(3).map(() => register(small.client)))
  const id = await openProject(owner)
  for (const one of [guest, third]) await invite(owner!, id, one!)
  const [one, two, three] = await Promise.all(upTo(3).map(() => withToken(owner!, { scopes: ['read'] })))
  const waiting: Promise<Answer>[] = []
  const hold = async (by: Client) => {
    waiting.push(by.get(feedPath(id, 'after=3&wait=25')))
    await eventually('the long poll', () => small.services.subscriptions.inProgress() === waiting.length)
  }
  for (const by of [one, two]) await hold(by!)
  const rejected = await three!.get(feedPath(id, 'after=3&wait=25'))
  expectError(rejected, 429, 'Too many requests that wait for events of this account are in progress')
  expect(rejected.headers.get('retry-after')).toBe('1')
  await hold(guest!)
  const ids = await Promise.all(upTo(101).map(() => openProject(guest)))
  const after = Object.fromEntries(ids.map((one) => [one, 1]))
  expect((await read(after, { wait: 1 }, guest)).status).toBe(429)
  delete after[ids[0]!]
  expect((await read(after, { wait: 1 }, guest)).status).toBe(200)
  await hold(third!)
  // The process has as many requests as it may have.
  expect((await guest!.get(feedPath(id, 'after=3&wait=25'))).status).toBe(503)
  small.services.subscriptions.end()
  for (const answer of waiting) expect((await answer).text).toBe('[]')
  expect((await third!.get(feedPath(id, 'after=3&wait=25'))).text).toBe('[]')
})

test('a stream sends an id after at most 100 omitted events', async () => {
  const id = await openProject()
  await invite(ada, id, bea, 'EDITOR')
  await makeTasks(ada, id, 250)
  await addTask(id, bea)
  const messages = await openStreamIn(service, ada, id, '?exceptActor=me&after=0')
  const next = async () => (await messages.next()).value!
  expect([await next(), await next()]).toEqual([{ id: '100' }, { id: '200' }])
  expect(await next()).toMatchObject({ id: '253', event: 'task.created' })
  await makeTasks(ada, id, 150)
  expect(await next()).toEqual({ id: '353' })
  await addTask(id, bea)
  expect(await next()).toMatchObject({ id: '404', event: 'task.created' })
  await messages.return()
})

test('a stream begins after Last-Event-ID even if the URL has `after`, and names a time to wait before a reconnect', async () => {
  const id = await openProject()
  await makeTasks(ada, id, 4)
  const path = `/projects/${id}/events?after=1`
  const messages = parseMessages(await streamBodyIn(service, ada, path, { 'last-event-id': '3' }))
  expect((await messages.next()).value).toEqual({ retry: expect.stringMatching(/^\d+$/), id: '3' })
  expect(await takeEvents(messages, 2)).toMatchObject([{ id: '4', data: { seq: 4 } }, { id: '5' }])
  await messages.return()
})
