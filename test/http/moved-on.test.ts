import { beforeEach, expect, test } from 'bun:test'
import { invite, make, type Person, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { noteQueries } from './noting.ts'

let projectId: string
let [wheel, axle, memberId] = ['', '', '']

const service = await forFile(openTestService())
/** What modules asked of the database. */
const texts: string[] = noteQueries(service.services)
const ada = await register(service.client)
const grace = await register(service.client)
beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Engine' })).id
  wheel = (await make(ada, '/tasks', { title: 'Wheel', projectId })).id
  axle = (await make(ada, '/tasks', { title: 'Axle', projectId })).id
  memberId = (await invite(ada, projectId, grace)).id
})

const rename = (id: string, title: string) => ada.patch(`/tasks/${id}`, { title })
const wheelOf = (person: Person) => person.get(`/tasks/${wheel}`)

test('a task is read again when it changes, and not when others in its project do', async () => {
  for (const person of [ada, grace]) await wheelOf(person)
  texts.length = 0
  for (const title of ['Shaft', 'Rod', 'Beam']) {
    await rename(axle, title)
    await make(ada, `/tasks/${wheel}/comments`, { text: title })
    for (const person of [ada, grace]) expect((await wheelOf(person)).body).toMatchObject({ title: 'Wheel' })
  }
  expect(texts).toEqual([])
  await rename(wheel, 'Cog')
  for (const person of [ada, grace]) expect((await wheelOf(person)).body).toMatchObject({ title: 'Cog' })
  expect(texts.length).toBeGreaterThan(0)
})

test('a list of a project that moved on asks for its rows, and not who may see them', async () => {
  const { roles } = service.services.counts.caches
  const list = () => grace.get(`/tasks?projectId=${projectId}`)
  await list()
  const { misses } = roles
  for (const title of ['Cog', 'Gear']) {
    await rename(wheel, title)
    expect((await list()).body).toMatchObject([{ title }, { title: 'Axle' }])
  }
  expect(roles.misses).toBe(misses)
})

test('who was removed between two writes about other things sees nothing more', async () => {
  const reads = [`/tasks/${wheel}`, `/tasks?projectId=${projectId}`, `/projects/${projectId}`]
  for (const path of reads) expect((await grace.get(path)).status).toBe(200)
  await rename(axle, 'Shaft')
  const { status } = await ada.delete(`/projects/${projectId}/members/${memberId}`)
  expect(status).toBe(200)
  await rename(axle, 'Rod')
  for (const path of reads) expect([path, (await grace.get(path)).status]).toEqual([path, 404])
})

test('a task that moved away is where it went, whatever was written before and after', async () => {
  const { id: other } = await make(ada, '/projects', { name: 'Mill' })
  for (const person of [ada, grace]) await wheelOf(person)
  await rename(axle, 'Shaft')
  await ada.patch(`/tasks/${wheel}`, { projectId: other })
  await rename(axle, 'Rod')
  expect((await wheelOf(ada)).body).toMatchObject({ projectId: other })
  expect((await wheelOf(grace)).status).toBe(404)
})
