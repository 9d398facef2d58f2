import { expectTransactions } from '../exports/scene.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'
import { allPages, cases, holdTransaction, make, openScene, openStreamIn } from '../kit.ts'
import { parseMessages, Random, register, runBatch, upTo, versionOf } from '../kit.ts'
import type { Message, Person, Sql } from '../kit.ts'

const { service, sql, ada, bea, cy } = await openScene(['Ada', 'Bea', 'Cy'])

const kinds = ['tasks', 'labels', 'members', 'fields', 'views']
const all = `snapshot=${kinds.join()}`
const stream = { accept: 'text/event-stream' }

type Data = { version: number; kind: string; rows: { id: string }[]; seq: number; statusCode: number }
type Messages = AsyncGenerator<Message, void>
const dataOf = ({ data }: Message) => data as unknown as Data

/** Opens a stream, and returns its first message, which has no event name, and the others. */
async function open(by: Person, projectId: string, query = all, headers: object = {}) {
  const own = { authorization: `Bearer ${by.token}`, ...stream, ...headers }
  const response = await service.fetch(`/api/v1/projects/${projectId}/events?${query}`, { headers: own })
  return { response, messages: parseMessages(response.body!) }
}
const nextOf = async (messages: Messages) => (await messages.next()).value!

/** Reads the messages of a snapshot, also the message `live`, or as many as the stream sends before it ends. */
async function readSnapshot(messages: Messages) {
  const read: Message[] = []
  while (read.at(-1)?.event !== 'live') {
    const { value, done } = await messages.next()
    if (done) break
    read.push(value)
  }
  return read
}

const rowsIn = (messages: Message[], kind: string) =>
  messages.flatMap((message) => (dataOf(message)?.kind === kind ? dataOf(message).rows : []))

/** Compares the rows of each kind with the lists at the version. */
async function expectLists(messages: Message[], by: Person, id: string, version: number) {
  for (const kind of kinds) {
    const list = kind === 'tasks' ? `/tasks?projectId=${id}&` : `/projects/${id}/${kind}?`
    const listed = (await allPages(by, `${list}limit=200&asOf=${version}`)).flat()
    expect([version, kind, rowsIn(messages, kind)]).toEqual([version, kind, listed])
  }
}

async function newProject(tasks = 2) {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await runBatch(ada, id, [
    ...upTo(tasks).map((n) => ({ op: 'task.create', title: `T${n}` })),
    { op: 'label.create', name: 'bug' },
    { op: 'field.create', key: 'note', name: 'Note', type: 'text' },
    { op: 'view.create', name: 'Mine', query: { status: 'TODO' } },
    { op: 'member.invite', email: bea.email, role: 'EDITOR' },
  ])
  return id
}

/** Inserts tasks of 10 kB that no compression shrinks. */
const fill = (sql: Sql, projectId: string, tasks: number) =>
  sql`insert into tasks (id, project_id, number, title, description, status, priority, created_at, updated_at, event_id)
    select uuidv7(), ${projectId}, 9 + n, 'Task', (select string_agg(md5(random()::text || n || i), '') from generate_series(1, 300) i),
      'TODO', 'LOW', now(), now(), uuidv7() from generate_series(1, ${tasks}::int) n`

test('a stream with a snapshot sends the rows at one version without ids, then the version, then later events', async () => {
  const id = await newProject(450)
  const { response, messages } = await open(bea, id)
  const version = await versionOf(ada, id)
  const [start, ...snapshot] = await readSnapshot(messages)
  const live = snapshot.pop()
  expect([response.status, response.headers.get('docket-version')]).toEqual([200, String(version)])
  expect(start).toEqual({ retry: expect.any(String) })
  expect(live as object).toEqual({ id: String(version), event: 'live', data: { version } })
  for (const message of snapshot) {
    expect([Object.keys(message), Object.keys(dataOf(message))]).toEqual([
      ['event', 'data'],
      ['version', 'kind', 'rows'],
    ])
    expect([message.event, dataOf(message).version]).toEqual(['snapshot', version])
    expect(dataOf(message).rows.length).toBeWithin(1, 201)
  }
  await expectLists(snapshot, bea, id, version)
  expect(kinds.filter((kind) => rowsIn(snapshot, kind).length === 0)).toEqual([])
  await make(ada, '/tasks', { projectId: id, title: 'Next' })
  expect(await nextOf(messages)).toMatchObject({ id: String(version + 1), event: 'task.created' })
  await messages.return()
})

test('a snapshot has only the requested kinds, in the requested order, and no message for a kind without rows', async () => {
  const { id } = await make(ada, '/projects', { name: 'Empty' })
  const { messages } = await open(ada, id)
  expect((await readSnapshot(messages)).map(({ event }) => event)).toEqual([undefined, 'live'])
  const full = await newProject()
  const two = await open(ada, full, 'snapshot=fields,tasks&types=task.deleted&after=1')
  const sent = await readSnapshot(two.messages)
  expect(sent.flatMap((one) => dataOf(one)?.kind ?? [])).toEqual(['fields', 'tasks'])
  const [task] = rowsIn(sent, 'tasks')
  const others = await open(bea, full, 'snapshot=labels&exceptActor=me')
  await readSnapshot(others.messages)
  await make(bea, '/tasks', { projectId: full, title: 'Of Bea' })
  await ada.patch(`/tasks/${task!.id}`, { title: 'Draw' })
  await ada.delete(`/tasks/${task!.id}`)
  const version = await versionOf(ada, full)
  expect(await nextOf(two.messages)).toMatchObject({ id: String(version), event: 'task.deleted' })
  expect(await nextOf(others.messages)).toMatchObject({ id: String(version - 1), event: 'task.updated' })
  for (const one of [messages, two.messages, others.messages]) await one.return()
})

test('a stream that continues after Last-Event-ID has no snapshot, and HEAD reads none', async () => {
  const id = await newProject()
  const version = await versionOf(ada, id)
  const { messages } = await open(ada, id, all, { 'last-event-id': String(version - 1) })
  for (const seq of [version - 1, version]) expect(await nextOf(messages)).toMatchObject({ id: String(seq) })
  await messages.return()
  const head = await ada.call('HEAD', `/projects/${id}/events?${all}`, undefined, stream)
  expect([head.status, head.headers.get('docket-version')]).toEqual([200, String(version)])
  await expectTransactions(sql, 0)
})

test('while members write, every snapshot equals the lists at its version, and the events continue without a gap', async () => {
  for (const seed of upTo(cases(1))) {
    const world = await startRandomWrites(new Random(seed), [ada, bea, cy])
    const { id } = world.projects[0]!
    let isOver = false
    const writing = writeRandomly(world, cases(150)).finally(() => (isOver = true))
    const snapshots: { version: number; read: Message[]; messages: Messages }[] = []
    while (!isOver) {
      const { messages } = await open(ada, id)
      const read = await readSnapshot(messages)
      snapshots.push({ version: dataOf(read.at(-1)!).version, read, messages })
      if (snapshots.length > 5) await snapshots.shift()!.messages.return()
    }
    await writing
    const last = await versionOf(ada, id)
    for (const { version, read, messages } of snapshots) {
      await expectLists(read, ada, id, version)
      for (let seq = version + 1; seq <= last; seq++) expect(Number((await nextOf(messages)).id)).toBe(seq)
      await messages.return()
    }
  }
})

test('a slow client keeps no transaction, and its stream ends when it loses access during the snapshot', async () => {
  const id = await newProject()
  await fill(sql, id, 400)
  const { messages } = await open(bea, id)
  for (const _ of upTo(2)) await messages.next()
  await expectTransactions(sql, 0)
  const { body: members } = await ada.get(`/projects/${id}/members`)
  await ada.delete(`/projects/${id}/members/${members[0]!.id}`)
  const rest = await readSnapshot(messages)
  expect(rest.at(-1)).toMatchObject({ event: 'end', data: { statusCode: 404 } })
  expect(rowsIn(rest, 'tasks').length).toBeLessThan(200)
})

test('an account has at most 8 snapshots at a time, and a client that leaves frees its place', async () => {
  const dora = await register(service.client, 'Dora')
  const { id } = await make(dora, '/projects', { name: 'Engine' })
  await fill(sql, id, 250)
  const opened = []
  for (const _ of upTo(8)) opened.push(await open(dora, id))
  for (const { messages } of opened) for (const _ of upTo(2)) await messages.next()
  const { response } = await open(dora, id)
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
  const message = 'Too many snapshots of this account are in progress'
  expect((await response.json()) as object).toMatchObject({ message })
  const ofAda = await newProject()
  for (const query of ['', '?snapshot=labels'])
    await (await openStreamIn(service, ada, ofAda, query)).return()
  await opened.shift()!.messages.return()
  await readSnapshot(opened.shift()!.messages)
  for (const _ of upTo(2)) opened.push(await open(dora, id))
  const last = await open(dora, id)
  expect([...opened, last].map((one) => one.response.status)).toEqual([...Array(8).fill(200), 429])
  for (const { messages } of opened)
    expect((await readSnapshot(messages)).at(-1)).toMatchObject({ event: 'live' })
})

test('a client that leaves while its snapshot waits for the database leaves nothing behind', async () => {
  const id = await newProject()
  const release = await holdTransaction(sql, (tx) => tx`lock table tasks`)
  const abort = new AbortController()
  const headers = { authorization: `Bearer ${ada.token}`, ...stream }
  const opening = service.fetch(`/api/v1/projects/${id}/events?${all}`, { headers, signal: abort.signal })
  await expectTransactions(sql, 2)
  abort.abort()
  await release()
  await Promise.resolve(opening).catch(() => {})
  await expectTransactions(sql, 0)
})
