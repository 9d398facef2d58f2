import { cases, expectError, invite, make, nextPath, openScene, parseMessages, Random } from '../kit.ts'
import { makeTasks, streamBodyIn, upTo, versionOf } from '../kit.ts'
import type { Body, Message, Person } from '../kit.ts'
import { expectEvents } from './feed.ts'

const { service, sql, ada, bea } = await openScene(['Ada', 'Bea'])

interface Shared {
  id: string
  path: string
}

/** A project of Ada, with Bea as a member: version 2. */
async function openShared(): Promise<Shared> {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await invite(ada, id, bea, 'EDITOR')
  return { id, path: `/projects/${id}/events` }
}
const write = (by: Person, { id: projectId }: Shared) => make(by, '/tasks', { title: 'T', projectId })
const writeMany = (by: Person, { id }: Shared, count: number) => makeTasks(by, id, count)
const seqsOf = (rows: Body) => rows.map((row) => (row as unknown as { seq: number }).seq)
const read = async (after: object, more: object, by = ada) =>
  expectEvents(await by.post('/events/read', { after, ...more }))
const open = async (by: Person, path: string) => parseMessages(await streamBodyIn(service, by, path))
type Messages = Awaited<ReturnType<typeof open>>
const nextOf = async (messages: Messages) => (await messages.next()).value!

test('exceptActor leaves out the events of an account, and pages lead over them to the end', async () => {
  const shared = await openShared()
  await writeMany(ada, shared, 5)
  await write(bea, shared)
  await writeMany(ada, shared, 3)
  const first = await ada.get(`${shared.path}?exceptActor=me&limit=1`)
  expect([seqsOf(first.body), first.headers.get('docket-version')]).toEqual([[8], '11'])
  const last = await ada.get(nextPath(first.headers)!)
  expect([last.text, nextPath(last.headers), last.headers.get('docket-version')]).toEqual([
    '[]',
    undefined,
    '11',
  ])
  for (const [by, query, seqs] of [
    [bea, 'exceptActor=me', [...upTo(7), 9, 10, 11]],
    [bea, `exceptActor=${ada.id.toUpperCase()}`, [8]],
    [ada, `exceptActor=${shared.id}`, upTo(11)],
    [ada, `exceptActor=${bea.id}&types=task.created`, [3, 4, 5, 6, 7, 9, 10, 11]],
  ] as const)
    expect([query, seqsOf((await by.get(`${shared.path}?${query}`)).body)]).toEqual([query, [...seqs]])
  // A page for `me` is not the page of another caller, also in a cache.
  const path = `${shared.path}?exceptActor=me&limit=2`
  const [ofAda, ofBea] = [await ada.get(path), await bea.get(path)]
  expect([seqsOf(ofAda.body), seqsOf(ofBea.body)]).toEqual([[8], [1, 2]])
  const condition = { 'if-none-match': ofAda.headers.get('etag')! }
  expect([(await ada.get(path, condition)).status, (await bea.get(path, condition)).status]).toEqual([
    304, 200,
  ])
})

test('rejects an actor that is neither an id nor `me` with 400', async () => {
  const { id, path } = await openShared()
  const stream = { accept: 'text/event-stream' }
  for (const wrong of ['', 'Me', 'mine', 'me,me', `${ada.id}x`, '%00', 'null'])
    for (const [one, headers] of [
      [path, {}],
      [path, stream],
      ['/events', stream],
    ] as const) {
      const answer = await ada.get(`${one}?exceptActor=${wrong}`, headers)
      expectError(answer, 400, /^exceptActor must be the id of an account, or `me`/)
    }
  for (const wrong of ['', 'Me', null, 7, ['me'], { id: ada.id }])
    expectError(await ada.post('/events/read', { after: { [id]: 0 }, exceptActor: wrong }), 400)
})

test('a long poll waits for the event of another account', async () => {
  const shared = await openShared()
  const page = ada.get(`${shared.path}?exceptActor=me&after=2&wait=25`)
  const many = read({ [shared.id]: 2 }, { exceptActor: 'me', wait: 25 })
  for (const _ of upTo(3)) await write(ada, shared)
  await write(bea, shared)
  expect([seqsOf((await page).body), (await many).events.map(({ seq }) => seq)]).toEqual([[6], [6]])
  const end = { [shared.id]: 6 }
  const none = await read({ [shared.id]: 3 }, { exceptActor: 'me', wait: 0 })
  expect(none).toMatchObject({ after: end })
  expect((await read({ [shared.id]: 2 }, { exceptActor: bea.id, wait: 1 })).after).toEqual(end)
})

test('a stream sends only the events of others, and an id after at most 100 omitted events', async () => {
  const shared = await openShared()
  await writeMany(ada, shared, 250)
  await write(bea, shared)
  const messages = await open(ada, `${shared.path}?exceptActor=me&after=0`)
  const sent: Message[] = []
  while (sent.at(-1)?.event === undefined) sent.push(await nextOf(messages))
  expect(sent.map(({ id }) => Number(id))).toEqual([0, 100, 200, 253])
  expect(sent.slice(1, -1).map((message) => Object.keys(message))).toEqual([['id'], ['id']])
  await writeMany(ada, shared, 150)
  expect(await nextOf(messages)).toEqual({ id: '353' })
  await write(bea, shared)
  expect(await nextOf(messages)).toMatchObject({ id: '404', event: 'task.created' })
  await messages.return()
})

test('POST /events/read leaves out events of an account, and its cursor passes them in every project', async () => {
  const all = await Promise.all(upTo(5).map(openShared))
  const ids = all.map(({ id }) => id)
  const expected = new Map(ids.map((id) => [id, [] as number[]]))
  const random = new Random(7)
  for (const _ of upTo(cases(40))) {
    const shared = random.pick(all)!
    const [count, writer] = [1 + random.below(40), random.chance(0.3) ? bea : ada]
    const version = await versionOf(ada, shared.id)
    await writeMany(writer, shared, count)
    if (writer === bea) expected.get(shared.id)!.push(...upTo(count).map((n) => version + n))
  }
  const versions = await Promise.all(ids.map(async (id) => [id, await versionOf(ada, id)] as const))
  const ends = Object.fromEntries(versions)
  for (const limit of [1, 7, 100, 500]) {
    const received = new Map(ids.map((id) => [id, [] as number[]]))
    let after: Record<string, number> = Object.fromEntries(ids.map((id) => [id, 0]))
    while (!Bun.deepEquals(after, ends)) {
      const page = await read(after, { exceptActor: 'me', limit })
      expect(page.events.length).toBeLessThanOrEqual(limit)
      expect(page.after).not.toEqual(after)
      for (const { projectId, seq } of page.events) received.get(projectId)!.push(seq)
      after = page.after
    }
    expect([limit, received]).toEqual([limit, expected])
  }
})

test('beside concurrent writers, nobody misses an event of others by a stream, by pages or by /events/read', async () => {
  const shared = await openShared()
  const { id, path } = shared
  const start = await versionOf(ada, id)
  const writer = (by: Person, isSingle: boolean) => async () => {
    for (const _ of upTo(cases(15))) await (isSingle ? write(by, shared) : writeMany(by, shared, 30))
  }
  const writing = Promise.all(upTo(8).map((n) => writer(n % 2 ? ada : bea, n > 4)()))
  const messages = await open(ada, `${path}?exceptActor=me&after=${start}`)
  const steps = [
    async (after: number) => {
      const { body, headers } = await ada.get(`${path}?exceptActor=me&after=${after}&limit=50`)
      const next = nextPath(headers)
      const end = next ? new URL(next, 'http://a').searchParams.get('after') : headers.get('docket-version')
      return [seqsOf(body), Number(end)] as const
    },
    async (after: number) => {
      const { events, after: next } = await read({ [id]: after }, { exceptActor: 'me', limit: 50 })
      return [events.map(({ seq }) => seq), next[id]!] as const
    },
  ]
  let isOver = false
  const followers = steps.map(async (step) => {
    const received: number[] = []
    for (let after = start; !isOver || after < (await versionOf(ada, id));) {
      const [seqs, end] = await step(after)
      received.push(...seqs)
      after = end
    }
    return received
  })
  await writing
  isOver = true
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from events where project_id = ${id} and seq > ${start} and actor_id <> ${ada.id} order by seq`
  const expected = rows.map(({ seq }) => seq)
  const ofStream: number[] = []
  while (ofStream.length < expected.length) {
    const { event, id: seq } = await nextOf(messages)
    if (event) ofStream.push(Number(seq))
  }
  expect([...(await Promise.all(followers)), ofStream]).toEqual([expected, expected, expected])
  await messages.return()
})

test('the stream of all projects leaves out a project whose new versions are all by the actor', async () => {
  const [one, other] = [await openShared(), await openShared()]
  const ofAda = await open(ada, '/events?exceptActor=me')
  const ofBea = await open(bea, `/events?exceptActor=${ada.id}`)
  type State = { projectId: string; version: number | null }
  /** Reads up to the next message about the project. */
  const told = async (messages: Messages, { id }: { id: string }) => {
    const seen: State[] = []
    while (seen.at(-1)?.projectId !== id) {
      const { data } = await nextOf(messages)
      if (data) seen.push(data as unknown as State)
    }
    return seen
  }
  for (const messages of [ofAda, ofBea]) {
    const seen = new Set((await told(messages, one)).map(({ projectId }) => projectId))
    if (!seen.has(other.id)) await told(messages, other)
  }
  for (const _ of upTo(3)) await write(ada, one)
  await make(ada, '/projects', { name: 'Own' })
  await write(bea, other)
  for (const messages of [ofAda, ofBea])
    expect(await told(messages, other)).toEqual([{ projectId: other.id, version: 3 }])
  // The stream sends the version of another account together with the omitted versions before it.
  await write(bea, one)
  await write(ada, one)
  for (const { version } of await told(ofAda, one)) expect([6, 7]).toContain(version!)
  // A project that becomes visible is always told, because its members must learn about it.
  const { id } = await make(ada, '/projects', { name: 'Of Ada' })
  await invite(ada, id, bea)
  expect((await told(ofBea, { id })).at(-1)).toEqual({ projectId: id, version: 2 })
  await ada.delete(`/projects/${id}`)
  expect((await told(ofBea, { id })).at(-1)).toEqual({ projectId: id, version: null })
  for (const messages of [ofAda, ofBea]) await messages.return()
})
