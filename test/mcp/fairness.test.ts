import { make, openScene, register } from '../kit.ts'
import { message, send } from './raw.ts'

const { service, client, ada } = await openScene(['Ada'], { SUBSCRIBERS_PER_ACCOUNT: '100' })
const eve = await register(client, 'Eve')
const project = await make(ada, '/projects', { name: 'Engine' })
const ofEve = await make(eve, '/projects', { name: 'Flood' })

const wait = (signal?: AbortSignal) => {
  const args = { project: ofEve.id, after: 1, wait: 25 }
  return send(service, eve.token, { ...message('tools/call', { name: 'changes', arguments: args }), signal })
}

test('another account reads and writes before the responses to a flood of messages', async () => {
  let answered = 0
  const flood = Array.from({ length: 2_000 }, async () => {
    await send(service, eve.token, message('tools/list'))
    answered++
  })
  await make(ada, '/tasks', { projectId: project.id, title: 'Draw' })
  expect((await ada.get(`/tasks?projectId=${project.id}`)).body).toHaveLength(1)
  expect(answered).toBeLessThan(1_500)
  await Promise.all(flood)
})

test('calls that wait do not block other requests of the account, and are limited like subscribers', async () => {
  const waits = Array.from({ length: 101 }, () => wait())
  const rejected = await Promise.race(waits)
  expect(JSON.parse(rejected.text).result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('"status":429') }],
  })
  await make(ada, '/tasks', { projectId: project.id, title: 'Oil' })
  await make(eve, '/tasks', { projectId: ofEve.id, title: 'Wake' })
  const texts = (await Promise.all(waits)).map(({ text }) => text)
  expect(texts.filter((text) => text.includes('task.created'))).toHaveLength(100)
})

test('the size of waiting messages is limited for each account', async () => {
  const args = { project: ofEve.id, after: 1_000_000, wait: 25 }
  const sent = message('tools/call', {
    name: 'changes',
    arguments: args,
    junk: 'x'.repeat(900_000),
  })
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(service, eve.token, sent)))
  const rejected = answers.filter((answer) => answer.text.includes('Too many calls of tools'))
  expect(rejected.length).toBeGreaterThan(0)
  expect(JSON.parse(rejected[0]!.text).result.content[0].text).toContain('"retryAfterSeconds":1')
})

for (const era of ['modern', 'legacy'])
  test(`a wait ends when its client disconnects: ${era}`, async () => {
    const version = (await eve.get(`/projects/${ofEve.id}`)).headers.get('docket-version')
    const sentFor = (seconds: number) => {
      const args = { project: ofEve.id, after: Number(version), wait: seconds }
      const modern = message('tools/call', { name: 'changes', arguments: args })
      const { _meta, ...params } = modern.body.params
      return era === 'modern' ? modern : { body: { ...modern.body, params } }
    }
    const last = async () => (await send(service, eve.token, sentFor(1))).text
    const left = new AbortController()
    const waits = Array.from({ length: 101 }, () =>
      send(service, eve.token, { ...sentFor(25), signal: left.signal }).catch(() => ({ text: 'aborted' })),
    )
    expect((await Promise.race(waits)).text).toContain('429')
    left.abort()
    await Promise.all(waits)
    let text = await last()
    // The waits of clients that stay would last longer than these attempts.
    for (let n = 0; n < 20 && text.includes('429'); n++) text = await last()
    expect(text).toContain('changes')
  })
