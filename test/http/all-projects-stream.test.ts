import postgres from 'postgres'
import { forFile, invite, make, openClient, openPair, openStream, register, spawnService } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Message, Person } from '../kit.ts'

const { a: writer, b: reader, env } = await openPair()
// Without Redis this process gets no notifications, so it polls Postgres.
const polling = await spawnService('web', { ...env, REDIS_URL: 'redis://127.0.0.1:1' })
await forFile({ close: () => polling.stop() })

const newPerson = (name = 'Ada') => register(openClient(writer.url), name)
const openProject = async (client: Person) => (await make(client, '/projects', { name: 'Engine' })).id
const addTask = (client: Person, projectId: string) => make(client, '/tasks', { title: 'Draw', projectId })

type State = Record<string, number | null>

async function until(messages: AsyncGenerator<Message, void, void>, state: State, expected: State) {
  const changes: State[] = []
  while (!Bun.deepEquals(state, expected)) {
    const { value, done } = await messages.next()
    if (done || value?.event === 'end') throw new Error(`the stream ended:  ${JSON.stringify(value)}`)
    if (!value?.data) continue
    const { projectId, version } = value.data as unknown as { projectId: string; version: number | null }
    state[projectId] = version
    changes.push({ [projectId]: version })
  }
  return changes
}

const processes = { 'with notifications': reader, 'without Redis': polling }

for (const [how, at] of Object.entries(processes))
  test(`the stream of all projects sends their versions, then every change, new project and removal, ${how}`, async () => {
    const [ada, grace] = [await newPerson(), await newPerson('Grace')]
    const [one, other] = [await openProject(ada), await openProject(grace)]
    await addTask(ada, one)
    const hers = await openStream(grace, at, '/events')
    const { answer, messages, stop } = await openStream(ada, at, '/events')
    const headers = ['content-type', 'x-accel-buffering'].map((name) => answer.headers.get(name))
    expect(headers).toEqual(['text/event-stream', 'no'])
    expect((await messages.next()).value).toEqual({ retry: expect.stringMatching(/^\d+$/) })
    const state: State = {}
    expect(await until(messages, state, { [one]: 2 })).toEqual([{ [one]: 2 }])

    await addTask(ada, one)
    await until(messages, state, { [one]: 3 })
    const created = await openProject(ada)
    await until(messages, state, { [one]: 3, [created]: 1 })
    const member = await invite(grace, other, ada)
    await until(messages, state, { [one]: 3, [created]: 1, [other]: 2 })
    await addTask(grace, other)
    await until(messages, state, { [one]: 3, [created]: 1, [other]: 3 })
    await grace.delete(`/projects/${other}/members/${member.id}`)
    await until(messages, state, { [one]: 3, [created]: 1, [other]: null })
    // Ada is no longer a member, so her stream must not send this event.
    await addTask(grace, other)
    await ada.delete(`/projects/${created}`)
    await until(messages, state, { [one]: 3, [created]: null, [other]: null })
    await invite(grace, other, ada)
    await until(messages, state, { [one]: 3, [created]: null, [other]: 6 })
    stop()
    await until(hers.messages, {}, { [other]: 6 })
    hers.stop()
  })

test('messages have no event name, so that EventSource delivers them to onmessage', async () => {
  const ada = await newPerson()
  const projectId = await openProject(ada)
  const { answer, stop } = await openStream(ada, reader, '/events')
  const body = answer.body!.getReader()
  let text = ''
  while (!text.includes('data:')) text += new TextDecoder().decode((await body.read()).value)
  expect(text.split('\n\n')[1]).toBe(`data: {"projectId":"${projectId}","version":1}`)
  stop()
})

test('the stream of a revoked token ends with 401', async () => {
  const ada = await newPerson()
  const projectId = await openProject(ada)
  const { messages } = await openStream(ada, reader, '/events')
  await until(messages, {}, { [projectId]: 1 })
  await ada.post('/auth/logout')
  const login = await ada.post('/auth/login', { email: ada.email, password: 'secret-1' })
  const again = { ...ada, ...ada.as(login.body.access_token) }
  // The cache may contain a revoked token for a moment.
  let last: Message | undefined
  while (last?.event !== 'end') {
    await addTask(again, projectId)
    last = (await messages.next()).value!
  }
  expect(last).toMatchObject({ data: { statusCode: 401 } })
})

test('a bound API token gets only its own project, in the stream and when it reads events', async () => {
  const ada = await newPerson()
  const [mine, other] = [await openProject(ada), await openProject(ada)]
  const bound = await withToken(ada, { scopes: ['read'], projects: [mine] })
  const all = await openStream(ada, reader, '/events')
  const own = await openStream(bound, reader, '/events')
  for (const one of [other, mine]) await addTask(ada, one)
  // Waits until the stream of the unbound token has received the event of the other project.
  await until(all.messages, {}, { [mine]: 2, [other]: 2 })
  const changes = await until(own.messages, {}, { [mine]: 2 })
  expect(changes.flatMap((one) => Object.keys(one))).not.toContain(other)
  for (const { stop } of [all, own]) stop()
  const { body } = await bound.post('/events/read', { after: { [mine]: 1, [other]: 1 } })
  expect(body).toMatchObject({ after: { [mine]: 2 }, gone: [other] } as object)
})

/** Inserts projects with ids that sort before the ids of the service, and returns their ids. */
async function insertProjects(owner: Person, count: number): Promise<string[]> {
  const sql = postgres(env.DATABASE_URL!, { max: 1, fetch_types: false })
  try {
    const rows = await sql<{ id: string }[]>`
      insert into projects (id, owner_id, name, created_at, event_id)
      select ('019a' || substr(${owner.id}, 5, 9) || '-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${owner.id}, 'Old', now(), uuidv7()
      from generate_series(1, ${count}::int) n returning id`
    await sql`insert into streams (project_id, version, last_number, last_event_id)
      select id, 1, 0, event_id from projects where owner_id = ${owner.id}`
    return rows.map(({ id }) => id).sort()
  } finally {
    await sql.end()
  }
}

const nextPath = ({ headers }: { headers: Headers }) =>
  /^<\/api\/v1(\/events\?afterProject=[\w-]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]

for (const [how, at] of Object.entries(processes))
  test(`a member of 1,001 projects reaches each of them by pages, and a token of the newest gets only this one, ${how}`, async () => {
    const [ada, grace] = [await newPerson(), await newPerson('Grace')]
    const old = await insertProjects(ada, 1_000)
    const first = await openStream(ada, at, '/events')
    expect(first.answer.headers.get('link')).toBeNull()
    const newest = await openProject(ada)
    let more: Message | undefined
    const told = new Set<string>()
    while (more?.event !== 'more') {
      more = (await first.messages.next()).value!
      if (more.event !== 'more' && more.data)
        told.add((more.data as unknown as { projectId: string }).projectId)
    }
    expect([[...told].sort(), more.data as unknown]).toEqual([old, { told: 1_000, last: old.at(-1)! }])

    const again = await openStream(ada, at, '/events')
    expect(nextPath(again.answer)).toBe(`/events?afterProject=${old.at(-1)}`)
    const second = await openStream(ada, at, nextPath(again.answer)!)
    expect(second.answer.headers.get('link')).toBeNull()
    expect(await until(second.messages, {}, { [newest]: 1 })).toHaveLength(1)
    const token = await withToken(ada, { scopes: ['read'], projects: [newest] })
    const bound = await openStream(token, at, '/events')
    expect(await until(bound.messages, {}, { [newest]: 1 })).toHaveLength(1)

    await addTask(ada, newest)
    await addTask(ada, old[0]!)
    for (const { messages } of [second, bound])
      expect(await until(messages, {}, { [newest]: 2 })).toHaveLength(1)
    expect(await until(first.messages, {}, { [old[0]!]: 2 })).toHaveLength(1)
    // A project within the range of the first page is sent to the first page, although this page is full.
    const [older] = await insertProjects(grace, 1)
    await invite(grace, older!, ada)
    const page = older! < old.at(-1)! ? first : second
    await until(page.messages, {}, { [older!]: 2 })
    for (const { stop } of [first, again, second, bound]) stop()
  })

test('afterProject must be an id, and HEAD has the Link header', async () => {
  const ada = await newPerson()
  const last = (await insertProjects(ada, 1_001))[999]
  const accept = { accept: 'text/event-stream' }
  for (const bad of ['x', '', '0'])
    expect((await ada.get(`/events?afterProject=${bad}`, accept)).body).toMatchObject({
      statusCode: 400,
      message: expect.stringMatching(/^afterProject must be /),
    })
  const head = await ada.call('HEAD', '/events', undefined, accept)
  expect(nextPath(head)).toBe(`/events?afterProject=${last}`)
})
