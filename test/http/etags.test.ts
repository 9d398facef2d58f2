import { expect, test } from 'bun:test'
import { invite, make } from '../support/client.ts'
import { eventsOf, expectRefusal } from './answers.ts'
import { openProject, openTeam } from './scene.ts'

const { service, people } = await openTeam()
const projectId = await openProject(people)
const taskId = (await make(people.owner, '/tasks', { title: 'Wheels', projectId })).id
const subtaskId = (await make(people.owner, `/tasks/${taskId}/subtasks`, { title: 'Oil' })).id
const paths: Record<string, string> = {
  project: `/projects/${projectId}`,
  task: `/tasks/${taskId}`,
  members: `/projects/${projectId}/members`,
  tasks: `/tasks?projectId=${projectId}`,
  subtasks: `/tasks/${taskId}/subtasks`,
  comments: `/tasks/${taskId}/comments`,
}

const tagOf = async (path: string, who = people.viewer) => (await who.get(path)).headers.get('etag')!
const ask = (path: string, tag: string, who = people.viewer) => who.get(path, { 'if-none-match': tag })

test('a caller who has it is answered 304 without a body', async () => {
  for (const path of Object.values(paths)) {
    const tag = await tagOf(path)
    expect(tag).toMatch(/^"[^"]+"$/)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await ask(path, known)
      expect([answer.status, answer.text]).toEqual([304, ''])
      expect(answer.headers.get('etag')).toBe(tag)
      expect(answer.headers.get('x-request-id')).toBeTruthy()
    }
    for (const unknown of ['"other"', tag.slice(1, -1), '""', 'garbage, "']) {
      expect((await ask(path, unknown)).status).toBe(200)
    }
  }
})

test('who may not see it is refused, whatever tag they bring', async () => {
  for (const path of Object.values(paths)) {
    for (const tag of [await tagOf(path), '*']) {
      expectRefusal(await ask(path, tag, people.stranger), 404)
      expectRefusal(await people.viewer.as().get(path, { 'if-none-match': tag }), 401)
    }
  }
})

test('a created or changed resource carries the tag that reading it does', async () => {
  const created = await people.owner.post('/tasks', { title: 'T', projectId })
  const path = `/tasks/${created.body.id}`
  expect(await tagOf(path)).toBe(created.headers.get('etag')!)
  const changed = await people.owner.patch(path, { title: 'U' })
  expect(changed.headers.get('etag')).not.toBe(created.headers.get('etag'))
  expect(await tagOf(path)).toBe(changed.headers.get('etag')!)
})

test("a single resource's tag changes with it and with nothing else", async () => {
  const before = await tagOf(paths.task!)
  await people.owner.patch(paths.project!, { description: 'Changed' })
  await people.owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)
  expect((await ask(paths.task!, before)).status).toBe(304)
  await people.owner.patch(paths.task!, { status: 'DONE' })
  const after = await ask(paths.task!, before)
  expect([after.status, after.body.status]).toEqual([200, 'DONE'])
})

test('a list is answered anew after every change, at once', async () => {
  const guest = people.stranger
  const changes: [string, () => Promise<unknown>][] = [
    ['tasks', () => people.owner.patch(paths.task!, { priority: 'HIGH' })],
    ['subtasks', () => people.owner.patch(`/tasks/subtasks/${subtaskId}/toggle`)],
    ['comments', () => make(people.owner, paths.comments!, { text: 'New' })],
    ['members', () => invite(people.owner, projectId, guest)],
  ]
  for (const [list, change] of changes) {
    const path = paths[list]!
    const before = await people.viewer.get(path)
    await change()
    const after = await ask(path, before.headers.get('etag')!)
    expect([list, after.status]).toEqual([list, 200])
    expect(after.text).not.toBe(before.text)
  }
})

test('two projects at the same version do not pass for one another when a task moves', async () => {
  const other = await openProject(people, 'Other')
  const { id } = await make(people.owner, '/tasks', { title: 'T', projectId })
  const path = `/tasks/${id}/subtasks`
  // The move and the new subtask will bring the other project to the version this one has now.
  while ((await eventsOf(service, projectId)) - (await eventsOf(service, other)) !== 2) {
    const behind = (await eventsOf(service, projectId)) - (await eventsOf(service, other)) < 2
    await make(people.owner, '/tasks', { title: 'Filler', projectId: behind ? projectId : other })
  }
  const before = await tagOf(path)
  await people.owner.patch(`/tasks/${id}`, { projectId: other })
  await make(people.owner, path, { title: 'S' })
  const after = await ask(path, before)
  expect([after.status, after.body?.length]).toEqual([200, 1])
})
