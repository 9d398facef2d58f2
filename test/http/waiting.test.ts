import { expect, test } from 'bun:test'
import { Scheduler } from '../../src/admission/scheduler.ts'
import { openLongPoll } from '../../modules/events/hold.ts'
import { type Client, invite, make, type Person, register, withToken } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { expectRefusal } from './answers.ts'
import { heldIn } from './held.ts'
import { bodyOf } from './read-events.ts'
import { openScene } from '../support/scene.ts'

const { service, client, ada, grace } = await openScene(['Ada', 'Grace'])

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`

const held = (who: Client, path: string, at = service) => heldIn(at, () => who.get(path))

const typesIn = ({ body }: { body: object }) => (body as { type: string }[]).map(({ type }) => type)

test('what is there is answered at once, and what comes when it comes', async () => {
  const projectId = await openProject()
  const there = await ada.get(feedOf(projectId, 'wait=25'))
  expect(typesIn(there)).toEqual(['project.created'])
  const { answer } = await held(ada, feedOf(projectId, 'after=1&wait=25'))
  await make(ada, '/tasks', { title: 'Draw', projectId })
  const came = await answer
  expect(typesIn(came)).toEqual(['task.created'])
  expect(came.headers.get('docket-version')).toBe('2')
})

test('who waits for some types is not answered with others', async () => {
  const projectId = await openProject()
  const { answer } = await held(ada, feedOf(projectId, 'types=comment.created&wait=25'))
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(typesIn(await answer)).toEqual(['comment.created'])
})

test('who waits for some types is answered at the first wake-up after such an event', async () => {
  const projectId = await openProject()
  const { services } = service
  const request = new Request('http://localhost', { headers: { authorization: `Bearer ${ada.token}` } })
  const caller = await services.authenticate.caller(request)
  const { id } = await make(ada, '/tasks', { title: 'Draw', projectId })
  let wakeUps = 0
  const moved = async () => {
    if (++wakeUps > 2) throw new Error('The second event was of the type')
    if (wakeUps === 1) await ada.patch(`/tasks/${id}`, { title: 'Other' })
    else await make(ada, `/tasks/${id}/comments`, { text: 'Oil it' })
    return undefined
  }
  const follow = () => ({ moved, end() {} }) as never
  const hold = openLongPoll({ ...services, followers: { ...services.followers, follow } })
  const first = (await services.findRole(caller, projectId))!
  const asked = { after: 0, limit: 10, types: ['comment.created'], waitMs: 60_000 }
  const turn = new Scheduler().enter(caller.userId)
  const reading = { request, caller, params: {}, query: {}, turn: await turn }
  expect(await hold(reading as never, first, asked)).toMatchObject({ version: 4 })
})

test('where nothing comes the answer is empty when the time is up', async () => {
  const projectId = await openProject()
  const began = performance.now()
  const { text, headers } = await ada.get(feedOf(projectId, 'after=1&wait=1'))
  expect([text, headers.get('link')]).toEqual(['[]', null])
  expect(performance.now() - began).toBeGreaterThan(900)
})

test('who has lost the right to see it is told so instead', async () => {
  const projectId = await openProject()
  const grace = await register(client, 'Grace')
  const member = await invite(ada, projectId, grace)
  const waiting = await held(grace, feedOf(projectId, 'after=2&wait=25'))
  await ada.delete(`/projects/${projectId}/members/${member.id}`)
  expect((await waiting.answer).status).toBe(404)

  const owning = await held(ada, feedOf(projectId, 'after=3&wait=25'))
  await ada.delete(`/projects/${projectId}`)
  expect((await owning.answer).status).toBe(404)
})

test('a token that ends meanwhile gets nothing more', async () => {
  const projectId = await openProject()
  const grace = await register(client, 'Grace')
  await invite(ada, projectId, grace)
  const { answer } = await held(grace, feedOf(projectId, 'after=2&wait=25'))
  await grace.post('/auth/logout')
  await make(ada, '/tasks', { title: 'Draw', projectId })
  expect((await answer).status).toBe(401)
})

test('a wait has bounds', async () => {
  const projectId = await openProject()
  for (const wait of ['26', '-1', '1.5', 'long', ''])
    expect((await ada.get(feedOf(projectId, `wait=${wait}`))).body.message).toStartWith(
      'wait must be a whole number from 0 to 25',
    )
})

test('an account has so many places with all its tokens', async () => {
  await using small = await openTestService({ FOLLOWERS_PER_CALLER: '2' })
  const [owner, other] = [await register(small.client), await register(small.client)]
  const { id } = await make(owner, '/projects', { name: 'Engine' })
  await invite(owner, id, other)
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => withToken(owner, { scopes: ['read'] })))
  const path = feedOf(id, 'after=2&wait=25')
  const waiting = [await held(one!, path, small), await held(two!, path, small)]
  expectRefusal(
    await three!.get(path),
    429,
    'Too many requests that wait for events of this account are in progress',
  )
  const beside = await held(other, path, small)
  small.services.followers.end()
  for (const { answer } of [...waiting, beside]) expect((await answer).text).toBe('[]')
})

test('so many wait and no more, and all are answered when the service ends', async () => {
  await using small = await openTestService({ FOLLOWERS: '2', FOLLOWERS_PER_CALLER: '1' })
  const people = [await register(small.client), await register(small.client), await register(small.client)]
  const [first, second, third] = people as [Person, Person, Person]
  const path = feedOf((await make(first, '/projects', { name: 'Engine' })).id, 'after=3&wait=25')
  for (const one of [second, third]) await invite(first, path.split('/')[2]!, one)
  const one = await held(first, path, small)
  const again = await first.get(path)
  expect([again.status, again.headers.get('retry-after')]).toEqual([429, '1'])
  const other = await held(second, path, small)
  expect((await third.get(path)).status).toBe(503)
  small.services.followers.end()
  for (const { answer } of [one, other]) expect((await answer).text).toBe('[]')
  expect((await third.get(path)).text).toBe('[]')
})
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const read = (after: object, more = {}, who = ada) => who.post('/events/read', { after, ...more })
const heldRead = (after: object, who = ada) => heldIn(service, () => read(after, { wait: 25 }, who))

test('an answer that has nothing to tell is held until there is something in any of the projects', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const { answer } = await heldRead({ [one]: 1, [other]: 1 })
  await addTask(other)
  const found = bodyOf(await answer)
  expect(found.events.map(({ projectId, seq }) => [projectId, seq])).toEqual([[other, 2]])
  expect(found.after).toEqual({ [one]: 1, [other]: 2 })
})

test('where nothing comes the answer is empty when the time is up', async () => {
  const one = await openProject()
  const began = performance.now()
  expect(bodyOf(await read({ [one]: 1 }, { wait: 1 }))).toEqual({ events: [], after: { [one]: 1 }, gone: [] })
  expect(performance.now() - began).toBeGreaterThan(900)
})

test('who is removed while waiting, or sees their project deleted, is told that it is gone', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const member = await invite(ada, one, grace)
  await invite(ada, other, grace)
  const waiting = await heldRead({ [one]: 2, [other]: 2 }, grace)
  await ada.delete(`/projects/${one}/members/${member.id}`)
  expect(bodyOf(await waiting.answer)).toEqual({ events: [], after: { [other]: 2 }, gone: [one] })
  const again = await heldRead({ [other]: 2 }, grace)
  await ada.delete(`/projects/${other}`)
  expect(bodyOf(await again.answer)).toEqual({ events: [], after: {}, gone: [other] })
})

test('a token that ends meanwhile gets nothing more', async () => {
  const bea = await register(client)
  const one = await openProject()
  await invite(ada, one, bea)
  const { answer } = await heldRead({ [one]: 2 }, bea)
  await bea.post('/auth/logout')
  await addTask(one)
  expect((await answer).status).toBe(401)
})

test('who waits for many projects takes a seat for each hundred of them', async () => {
  await using small = await openTestService({ FOLLOWERS_PER_CALLER: '1' })
  const bea = await register(small.client)
  const ids: string[] = []
  for (let i = 0; i < 101; i++) ids.push((await make(bea, '/projects', { name: 'P' })).id)
  const after = Object.fromEntries(ids.map((id) => [id, 1]))
  expect((await bea.post('/events/read', { after, wait: 1 })).status).toBe(429)
  delete after[ids[0]!]
  expect((await bea.post('/events/read', { after, wait: 1 })).status).toBe(200)
})
