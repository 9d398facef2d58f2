import { expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { upTo } from '../races/pair.ts'
import { type Answer, invite, make, register } from '../support/client.ts'
import { unknownId, expectError, isReplay } from './responses.ts'
import { openScene } from '../support/scene.ts'

const { client, ada, grace } = await openScene(['Ada', 'Grace'])
const project = await make(ada, '/projects', { name: 'P' })
await invite(ada, project.id, grace, 'EDITOR')
const task = await make(ada, '/tasks', { title: 'T', projectId: project.id })

test('a query parameter given twice is refused by its name, wherever it is given', async () => {
  const twice = {
    limit: ['limit=1&limit=1', 'limit=1&x=2&limit', 'limit=1&lim%69t=2', 'limit&limit'],
    ...{ 'a b': ['a+b=1&a%20b=2'], '%zz': ['%zz=1&%zz=2'], '""': ['=1&=2'] },
  }
  const paths = ['/projects', '/tasks', `/projects/${project.id}`, `/tasks/${task.id}/comments`, '/auth/me']
  for (const path of paths) {
    for (const [name, queries] of Object.entries(twice))
      for (const query of queries)
        expectError(await ada.get(`${path}?${query}`), 400, `${name} is given more than once`)
    expectError(await ada.as().get(`${path}?limit=1&limit=1`), 401)
  }
  const patched = await ada.patch(`/tasks/${task.id}?a=1&a=1`, { title: 'U' })
  for (const answer of [patched, await ada.post('/auth/login?a=1&a=1', {})])
    expectError(answer, 400, 'a is given more than once')
  expect((await ada.get(`/tasks?status=TODO&&priority=MEDIUM&projectId=${project.id}&`)).body).toHaveLength(1)
})

test('a route without parameters rejects all of them with 400, naming the first', async () => {
  const answers = await Promise.all([
    ada.get('/auth/me?a%62=1&c=2'),
    ada.post('/tasks?ab', { title: 'T', projectId: project.id }),
    ada.patch(`/tasks/${task.id}?ab=1`, { title: 'U' }),
    ada.delete(`/tasks/${task.id}?ab=`),
    client.post('/auth/login?ab=1', {}),
  ])
  for (const answer of answers) expectError(answer, 400, 'ab is not known here')
})

test('an id in upper case is the same id, in paths, queries and bodies', async () => {
  const up = (text: string) => text.toUpperCase()
  expect((await ada.get(`/projects/${up(project.id)}`)).body).toEqual(project)
  expect((await ada.get(`/tasks/${up(task.id)}`)).body).toEqual(task)
  const [member] = (await ada.get(`/projects/${up(project.id)}/members`)).body
  const role = `/projects/${up(project.id)}/members/${up(member!.id)}/role`
  expect((await ada.patch(role, { role: 'ADMIN' })).body.projectId).toBe(project.id)
  const wanted = { title: 'U', projectId: up(project.id), assigneeId: up(grace.id) }
  const other = await make(ada, '/tasks', wanted)
  expect(other).toMatchObject({ projectId: project.id, assigneeId: grace.id })
  const query = `projectId=${up(project.id)}&assigneeId=${up(grace.id)}`
  expect((await ada.get(`/tasks?${query}`)).body.map(({ id }) => id)).toEqual([other.id])
  const same = await ada.patch(`/tasks/${up(task.id)}`, { projectId: up(project.id), assigneeId: null })
  expect(same.body).toEqual(task)
  const elsewhere = await make(ada, '/projects', { name: 'Q' })
  const moved = await ada.patch(`/tasks/${other.id}`, { projectId: up(elsewhere.id) })
  expect(moved.body).toMatchObject({ projectId: elsewhere.id, number: 1 })
  const subtask = await make(ada, `/tasks/${up(task.id)}/subtasks`, { title: 'S' })
  expect(subtask.taskId).toBe(task.id)
  expect((await ada.patch(`/tasks/subtasks/${up(subtask.id)}/toggle`)).body.completed).toBeTrue()
  const comment = await make(ada, `/tasks/${up(task.id)}/comments`, { text: 'C' })
  expect((await ada.delete(`/tasks/comments/${up(comment.id)}`)).status).toBe(200)
  expectError(await ada.get(`/tasks/${up(unknownId)}`), 404)
  expectError(await ada.get(`/tasks?assigneeId=ME`), 400)
})

test('what was created says where it is, also when it is asked for again', async () => {
  const guest = await register(client)
  const members = `/projects/${project.id}/members`
  const where: [path: string, body: object, at: string][] = [
    ['/projects', { name: 'L' }, '/projects'],
    ['/tasks', { title: 'L', projectId: project.id }, '/tasks'],
    [`${members}/invite`, { email: guest.email }, members],
    [`/tasks/${task.id}/subtasks`, { title: 'L' }, '/tasks/subtasks'],
    [`/tasks/${task.id}/comments`, { text: 'L' }, '/tasks/comments'],
  ]
  for (const [path, body, at] of where) {
    const key = { 'idempotency-key': path }
    const [first, again] = [await ada.post(path, body, key), await ada.post(path, body, key)]
    const below = `${at}/${first.body.id}`
    for (const { status, headers } of [first, again])
      expect([status, headers.get('location')]).toEqual([201, `/api/v1${below}`])
    expect(isReplay(again)).toBeTrue()
    const allow = (await ada.call('OPTIONS', below)).headers.get('allow')!
    if (allow.includes('GET')) expect((await ada.get(below)).body).toEqual(first.body)
    expect((await ada.delete(below)).status).toBe(200)
  }
  const account = { name: 'A', email: 'located@example.com', password: 'secret-1' }
  for (const _ of [1, 2]) {
    const { status, headers } = await client.post('/auth/register', account, { 'idempotency-key': 'k' })
    expect([status, headers.get('location')]).toEqual([201, '/api/v1/auth/me'])
  }
  const { headers } = await client.post('/auth/login', { email: account.email, password: 'secret-1' })
  expect(headers.get('location')).toBeNull()
})

/** Sends the same write with one key, later and later while the first is under way. */
const repeatedly = (ask: (key: Record<string, string>) => Promise<Answer>): Promise<Answer[]> => {
  const key = { 'idempotency-key': newId() }
  const answers = upTo(8).map(async (n) => {
    for (let turn = 0; turn < n * 2; turn++) await new Promise(setImmediate)
    return ask(key)
  })
  return Promise.all(answers)
}

test('repeats of a write that takes its own id, rights or target are answered like the first', async () => {
  for (const _ of upTo(10)) {
    const { id } = await make(ada, '/projects', { name: 'P' })
    const member = await invite(ada, id, grace, 'ADMIN')
    const role = `/projects/${id}/members/${member.id}/role`
    const own = newId()
    const all = [
      await repeatedly((key) => ada.post('/projects', { name: 'Own', id: own }, key)),
      await repeatedly((key) => grace.call('PATCH', role, { role: 'VIEWER' }, key)),
      await repeatedly((key) => ada.call('DELETE', `/projects/${id}`, undefined, key)),
    ]
    for (const answers of all) {
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect([200, 201]).toContain(answers[0]!.status)
    }
  }
})
