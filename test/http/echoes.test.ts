import { cases, expectError, invite, make, nextPath, openScene, parseMessages, Random } from '../kit.ts'
import { runBatch, streamBodyIn, upTo, versionOf } from '../kit.ts'
import type { Body, Message, Person } from '../kit.ts'
import { expectEvents } from './read-events.ts'

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
const write = (client: Person, { id: projectId }: Shared) => make(client, '/tasks', { title: 'T', projectId })
const writeMany = (client: Person, { id }: Shared, count: number) =>
  runBatch(
    client,
    id,
    upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` })),
  )
const seqsOf = (rows: Body) => rows.map((row) => (row as unknown as { seq: number }).seq)
const read = async (after: object, more: object, client = ada) =>
  expectEvents(await client.post('/events/read', { after, ...more }))
const open = async (client: Person, path: string) => parseMessages(await streamBodyIn(service, client, path))

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
  const seqs = async (client: Person, query: string) =>
    seqsOf((await client.get(`${shared.path}?${query}`)).body)
  expect(await seqs(bea, 'exceptActor=me')).toEqual([...upTo(7), 9, 10, 11])
  expect(await seqs(bea, `exceptActor=${ada.id.toUpperCase()}`)).toEqual([8])
  expect(await seqs(ada, `exceptActor=${shared.id}`)).toEqual(upTo(11))
  expect(await seqs(ada, `exceptActor=${bea.id}&types=task.created`)).toEqual([3, 4, 5, 6, 7, 9, 10, 11])
})

test('a page for `me` is not the page of another caller, also in a cache', async () => {
  const shared = await openShared()
  await write(bea, shared)
  const path = `${shared.path}?exceptActor=me`
  const [ofAda, ofBea] = [await ada.get(path), await bea.get(path)]
  expect([seqsOf(ofAda.body), seqsOf(ofBea.body)]).toEqual([[3], [1, 2]])
  expect(ofAda.headers.get('etag')).not.toBe(ofBea.headers.get('etag'))
  const again = await ada.get(path, { 'if-none-match': ofAda.headers.get('etag')! })
  expect(again.status).toBe(304)
})

test('rejects an actor that is neither an id nor `me` with 400', async () => {
  const { id, path } = await openShared()
  for (const wrong of ['', 'Me', 'mine', 'me,me', `${ada.id}x`, '%00', 'null']) {
    const message = /^exceptActor must be the id of an account, or `me`/
    expectError(await ada.get(`${path}?exceptActor=${wrong}`), 400, message)
    const stream = { accept: 'text/event-stream' }
    for (const one of [path, '/events'])
      expectError(await ada.get(`${one}?exceptActor=${wrong}`, stream), 400, message)
  }
  for (const wrong of ['', 'Me', null, 7, ['me'], { id: ada.id }])
    expectError(await ada.post('/events/read', { after: { [id]: 0 }, exceptActor: wrong }), 400)
})

test('a long poll waits for the event of another account', async () => {
  const shared = await openShared()
  const waiting = [
    ada.get(`${shared.path}?exceptActor=me&after=2&wait=25`).then(({ body }) => seqsOf(body)),
    read({ [shared.id]: 2 }, { exceptActor: 'me', wait: 25 }).then(({ events }) =>
      events.map(({ seq }) => seq),
    ),
  ]
  for (const _ of upTo(3)) await write(ada, shared)
  await write(bea, shared)
  expect(await Promise.all(waiting)).toEqual([[6], [6]])
  const none = await read({ [shared.id]: 3 }, { exceptActor: 'me', wait: 0 })
  expect(none).toMatchObject({ after: { [shared.id]: 6 } })
  const empty = await read({ [shared.id]: 2 }, { exceptActor: bea.id, wait: 1 })
  expect(empty.after).toEqual({ [shared.id]: 6 })
})

test('a stream sends only the events of others, and an id after at most 100 omitted events', async () => {
  const shared = await openShared()
  await writeMany(ada, shared, 250)
  await write(bea, shared)
  const messages = await open(ada, `${shared.path}?exceptActor=me&after=0`)
  const sent: Message[] = []
  while (sent.at(-1)?.event === undefined) sent.push((await messages.next()).value!)
  expect(sent.map(({ id }) => Number(id))).toEqual([0, 100, 200, 253])
  expect(sent.slice(1, -1).every((message) => Bun.deepEquals(Object.keys(message), ['id']))).toBe(true)
  await writeMany(ada, shared, 150)
  const { value: next } = await messages.next()
  expect(next as object).toEqual({ id: '353' })
  await write(bea, shared)
  const { value: last } = await messages.next()
  expect(last).toMatchObject({ id: '404', event: 'task.created' })
  await messages.return()
})

test('POST /events/read leaves out events of an account, and its cursor passes them in every project', async () => {
  const all = await Promise.all(upTo(5).map(openShared))
  const expected = new Map<string, number[]>(all.map(({ id }) => [id, []]))
  const random = new Random(7)
  for (const _ of upTo(cases(40))) {
    const shared = random.pick(all)!
    const count = 1 + random.below(40)
    const version = await versionOf(ada, shared.id)
    const writer = random.chance(0.3) ? bea : ada
    await writeMany(writer, shared, count)
    if (writer === bea) expected.get(shared.id)!.push(...upTo(count).map((n) => version + n))
  }
  for (const limit of [1, 7, 100, 500]) {
    const received = new Map<string, number[]>(all.map(({ id }) => [id, []]))
    const ends = Object.fromEntries(
      await Promise.all(all.map(async ({ id }) => [id, await versionOf(ada, id)] as const)),
    )
    let after: Record<string, number> = Object.fromEntries(all.map(({ id }) => [id, 0]))
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
  const writing = Promise.all(
    [ada, bea].flatMap((client) =>
      upTo(4).map(async (n) => {
        for (const _ of upTo(cases(15))) await (n % 2 ? write(client, shared) : writeMany(client, shared, 30))
      }),
    ),
  )
  const messages = await open(ada, `${path}?exceptActor=me&after=${start}`)
  const ofPages: number[] = []
  const ofReads: number[] = []
  let [page, many] = [start, start]
  let isOver = false
  const pages = (async () => {
    for (let last = false; !last;) {
      last = isOver
      const { body, headers } = await ada.get(`${path}?exceptActor=me&after=${page}&limit=50`)
      ofPages.push(...seqsOf(body))
      const next = nextPath(headers)
      if (next) last = false
      page = Number(
        next ? new URL(next, 'http://a').searchParams.get('after') : headers.get('docket-version'),
      )
    }
  })()
  const reads = (async () => {
    for (let last = false; !last;) {
      last = isOver && many === (await versionOf(ada, id))
      const { events, after } = await read({ [id]: many }, { exceptActor: 'me', limit: 50 })
      ofReads.push(...events.map(({ seq }) => seq))
      many = after[id]!
    }
  })()
  await writing
  isOver = true
  await Promise.all([pages, reads])
  const version = await versionOf(ada, id)
  const rows = await sql<{ seq: number }[]>`
    select seq::float8 as seq from events where project_id = ${id} and seq > ${start} and actor_id <> ${ada.id} order by seq`
  const expected = rows.map(({ seq }) => seq)
  const ofStream: number[] = []
  while (ofStream.length < expected.length) {
    const { value } = await messages.next()
    if (value?.event) ofStream.push(Number(value.id))
  }
  expect([ofPages, ofReads, ofStream]).toEqual([expected, expected, expected])
  expect([page, many]).toEqual([version, version])
  await messages.return()
})

test('the stream of all projects leaves out a project whose new versions are all by the actor', async () => {
  const [one, other] = [await openShared(), await openShared()]
  const ofAda = await open(ada, '/events?exceptActor=me')
  const ofBea = await open(bea, `/events?exceptActor=${ada.id}`)
  type State = { projectId: string; version: number | null }
  const told = async (messages: AsyncGenerator<Message, void>, of: Shared) => {
    for (const seen: State[] = []; ;) {
      const { value } = await messages.next()
      if (!value?.data) continue
      seen.push(value.data as unknown as State)
      if (seen.at(-1)!.projectId === of.id) return seen
    }
  }
  for (const messages of [ofAda, ofBea]) {
    const ids = new Set<string>()
    while (!(ids.has(one.id) && ids.has(other.id))) {
      const { value } = await messages.next()
      if (value?.data) ids.add((value.data as unknown as State).projectId)
    }
  }
  for (const _ of upTo(3)) await write(ada, one)
  await make(ada, '/projects', { name: 'Own' })
  await write(bea, other)
  expect(await told(ofAda, other)).toEqual([{ projectId: other.id, version: 3 }])
  expect(await told(ofBea, other)).toEqual([{ projectId: other.id, version: 3 }])
  // The stream sends the version of another account together with the omitted versions before it.
  await write(bea, one)
  await write(ada, one)
  const versions = (await told(ofAda, one)).map(({ version }) => version)
  expect(versions.every((version) => version === 6 || version === 7)).toBe(true)
  // A project that becomes visible is always told, because its members must learn about it.
  const { id } = await make(ada, '/projects', { name: 'Of Ada' })
  await invite(ada, id, bea)
  const seen = await told(ofBea, { id, path: '' })
  expect(seen.at(-1)).toEqual({ projectId: id, version: 2 })
  await ada.delete(`/projects/${id}`)
  expect((await told(ofBea, { id, path: '' })).at(-1)).toEqual({ projectId: id, version: null })
  for (const messages of [ofAda, ofBea]) await messages.return()
})
