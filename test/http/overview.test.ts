import { expect, test } from 'bun:test'
import { invite, make, openClient, type Person, register, withToken } from '../support/client.ts'
import { openWebProcess } from '../support/web-process.ts'
import { openPair } from '../races/pair.ts'
import { forFile, spawnService } from '../support/service.ts'
import { openStream, type Message } from './streaming.ts'

const { a: writing, b: listening, env } = await forFile(openPair())
// What it hears it has asked for itself.
const alone = await spawnService('web', { ...env, REDIS_URL: 'redis://127.0.0.1:1' })
await forFile({ close: () => alone.stop() })

const newPerson = (name = 'Ada') => register(openClient(writing.url), name)
const openProject = async (who: Person) => (await make(who, '/projects', { name: 'Engine' })).id
const addTask = (who: Person, projectId: string) => make(who, '/tasks', { title: 'Draw', projectId })

type State = Record<string, number | null>

/** Reads on until the newest that was told of each project is what is wanted; gives all that was told on the way. */
async function until(messages: AsyncGenerator<Message, void, void>, state: State, wanted: State) {
  const told: State[] = []
  while (!Bun.deepEquals(state, wanted)) {
    const { value, done } = await messages.next()
    if (done || value?.event === 'end') throw new Error(`it ended: ${JSON.stringify(value)}`)
    if (!value?.data) continue
    const { projectId, version } = value.data as unknown as { projectId: string; version: number | null }
    state[projectId] = version
    told.push({ [projectId]: version })
  }
  return told
}

const places = { 'by hints': listening, 'without Redis': alone }

for (const [how, at] of Object.entries(places))
  test(`all projects are told with their versions, then those that move, come and go, ${how}`, async () => {
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
    const made = await openProject(ada)
    await until(messages, state, { [one]: 3, [made]: 1 })
    const member = await invite(grace, other, ada)
    await until(messages, state, { [one]: 3, [made]: 1, [other]: 2 })
    await addTask(grace, other)
    await until(messages, state, { [one]: 3, [made]: 1, [other]: 3 })
    await grace.delete(`/projects/${other}/members/${member.id}`)
    await until(messages, state, { [one]: 3, [made]: 1, [other]: null })
    // Of what was never told, nothing is told: what goes on in there is not for them any more.
    await addTask(grace, other)
    await ada.delete(`/projects/${made}`)
    await until(messages, state, { [one]: 3, [made]: null, [other]: null })
    await invite(grace, other, ada)
    await until(messages, state, { [one]: 3, [made]: null, [other]: 6 })
    stop()
    await until(hers.messages, {}, { [other]: 6 })
    hers.stop()
  })

test('who listens hears each message by the plain name that EventSource gives to what has none', async () => {
  const ada = await newPerson()
  const projectId = await openProject(ada)
  const { answer, stop } = await openStream(ada, listening, '/events')
  const reader = answer.body!.getReader()
  let text = ''
  while (!text.includes('data:')) text += new TextDecoder().decode((await reader.read()).value)
  expect(text.split('\n\n')[1]).toBe(`data: {"projectId":"${projectId}","version":1}`)
  stop()
})

test('a reader whose token ends gets nothing more, and is told why', async () => {
  const ada = await newPerson()
  const projectId = await openProject(ada)
  const { messages } = await openStream(ada, listening, '/events')
  await until(messages, {}, { [projectId]: 1 })
  await ada.post('/auth/logout')
  const login = await ada.post('/auth/login', { email: ada.email, password: 'secret-1' })
  const again = { ...ada, ...ada.as(login.body.access_token) }
  // It is believed for a moment; what happens later it is not told.
  let last: Message | undefined
  while (last?.event !== 'end') {
    await addTask(again, projectId)
    last = (await messages.next()).value!
  }
  expect(last).toMatchObject({ data: { statusCode: 401 } })
})

test('an API token hears of the projects that it reaches, and reads the events of those alone', async () => {
  const ada = await newPerson()
  const [mine, other] = [await openProject(ada), await openProject(ada)]
  const bound = await withToken(ada, { scopes: ['read'], projects: [mine] })
  const all = await openStream(ada, listening, '/events')
  const own = await openStream(bound, listening, '/events')
  for (const one of [other, mine]) await addTask(ada, one)
  // What is told to all shows that the other has been heard of by then.
  await until(all.messages, {}, { [mine]: 2, [other]: 2 })
  const told = await until(own.messages, {}, { [mine]: 2 })
  expect(told.flatMap((one) => Object.keys(one))).not.toContain(other)
  for (const { stop } of [all, own]) stop()
  const { body } = await bound.post('/events/read', { after: { [mine]: 1, [other]: 1 } })
  expect(body).toMatchObject({ after: { [mine]: 2 }, gone: [other] } as object)
})

test('who leaves makes room for another, and HEAD takes none', async () => {
  await using own = await openWebProcess({ SUBSCRIBERS_PER_ACCOUNT: '1' })
  const { web, ada: bea } = own
  for (let i = 0; i < 3; i++) expect((await bea.call('HEAD', '/events')).status).toBe(200)
  const first = await openStream(bea, web, '/events')
  await first.messages.next()
  expect((await bea.get('/events')).status).toBe(429)
  first.stop()
  while ((await bea.get('/events')).status === 429) await Bun.sleep(20)
})
