import { expect, test } from 'bun:test'
import { invite, make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { heldIn } from './held.ts'
import { bodyOf } from './read-events.ts'

const service = await forFile(openTestService())
const ada = await register(service.client, 'Ada')
const grace = await register(service.client, 'Grace')

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const read = (after: object, more = {}, who = ada) => who.post('/events/read', { after, ...more })
const held = (after: object, who = ada) => heldIn(service, () => read(after, { wait: 25 }, who))

test('an answer that has nothing to tell is held until there is something in any of the projects', async () => {
  const [one, other] = [await openProject(), await openProject()]
  const { answer } = await held({ [one]: 1, [other]: 1 })
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
  const waiting = await held({ [one]: 2, [other]: 2 }, grace)
  await ada.delete(`/projects/${one}/members/${member.id}`)
  expect(bodyOf(await waiting.answer)).toEqual({ events: [], after: { [other]: 2 }, gone: [one] })
  const again = await held({ [other]: 2 }, grace)
  await ada.delete(`/projects/${other}`)
  expect(bodyOf(await again.answer)).toEqual({ events: [], after: {}, gone: [other] })
})

test('a token that ends meanwhile gets nothing more', async () => {
  const bea = await register(service.client)
  const one = await openProject()
  await invite(ada, one, bea)
  const { answer } = await held({ [one]: 2 }, bea)
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
