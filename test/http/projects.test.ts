import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { absentId, anId, anInstant, eventsOf, expectAnswer, expectRefusal } from './answers.ts'
import { openPeople, openProject } from './scene.ts'
import { openScene } from '../support/scene.ts'

const { service, client, ada } = await openScene(['Ada'])

test('creating answers the project with its caller as owner', async () => {
  const wanted = { name: 'Engine', description: 'With wheels' }
  const answer = await ada.post('/projects', wanted)
  const owner = { id: ada.id, name: 'Ada', email: ada.email }
  expectAnswer(answer, 201, { id: anId, ...wanted, ownerId: ada.id, owner, createdAt: anInstant })
  expectAnswer(await ada.get(`/projects/${answer.body.id}`), 200, answer.body)
})

test('a project needs no description', async () => {
  for (const wanted of [{}, { description: null }, { description: '' }, { description: '  ' }]) {
    expect((await make(ada, '/projects', { name: 'Bare', ...wanted })).description).toBeNull()
  }
})

test('a change keeps what is absent and clears what is null', async () => {
  const before = await make(ada, '/projects', { name: 'Old', description: 'Text' })
  const path = `/projects/${before.id}`
  expectAnswer(await ada.patch(path, { name: ' New ' }), 200, { ...before, name: 'New' })
  expectAnswer(await ada.patch(path, { description: null }), 200, {
    ...before,
    name: 'New',
    description: null,
  })
  expectAnswer(await ada.get(path), 200, { ...before, name: 'New', description: null })
})

test('a change that changes nothing leaves no trace', async () => {
  const before = await make(ada, '/projects', { name: 'Same', description: 'Text' })
  const path = `/projects/${before.id}`
  const { headers } = await ada.get(path)
  for (const same of [{}, { name: 'Same' }, { name: ' Same ', description: 'Text' }, { ownerId: absentId }]) {
    const answer = await ada.patch(path, same)
    expectAnswer(answer, 200, before)
    expect(answer.headers.get('etag')).toBe(headers.get('etag'))
  }
  expect(await eventsOf(service, before.id)).toBe(1)
  await ada.patch(path, { name: 'Other' })
  expect(await eventsOf(service, before.id)).toBe(2)
})

test('who creates a project cannot choose its owner', async () => {
  expectRefusal(await ada.post('/projects', { name: 'P', version: 9 }), 400, 'version is not known here')
  const project = await make(ada, '/projects', { name: 'P', ownerId: absentId })
  expect(project.ownerId).toBe(ada.id)
})

test('the list holds what a user owns or is a member of', async () => {
  const people = await openPeople(client)
  const shared = await openProject(people, 'Shared')
  const own = await make(people.viewer, '/projects', { name: 'Own' })
  const { body } = await people.viewer.get('/projects')
  expect(body.map(({ id }) => id)).toEqual([shared, own.id])
  expectAnswer(await people.viewer.get(`/projects/${shared}`), 200, body[0])
  expectAnswer(await people.stranger.get('/projects'), 200, [])
})

test('deleting says so, and the project is gone from every answer', async () => {
  const people = await openPeople(client)
  const id = await openProject(people)
  expectAnswer(await people.owner.delete(`/projects/${id}`), 200, { message: 'Project deleted successfully' })
  expectRefusal(await people.owner.get(`/projects/${id}`), 404, 'Project not found')
  expectRefusal(await people.owner.delete(`/projects/${id}`), 404, 'Project not found')
  for (const person of [people.owner, people.viewer]) expectAnswer(await person.get('/projects'), 200, [])
})
