import fc from 'fast-check'
import { createCollection } from '@tanstack/db'
import {
  NotFoundError,
  PreconditionRequiredError,
  UnauthorizedError,
} from '../../clients/typescript/src/errors.ts'
import { Replica } from '../../clients/typescript/src/feed/replica.ts'
import { docketCollection, newTask } from '../../clients/typescript/src/tanstack.ts'
import { cases, eventually, register, upTo, versionOf } from '../kit.ts'
import type { Mirror } from '../../clients/typescript/src/feed/mirror.ts'
import { openWorld, step } from '../rules/random-requests.ts'
import { openClientScene } from './scene.ts'

const { service, ada, docket, open, send, newProject, join } = await openClientScene()

/** Waits until the mirror shows the current version of the project. */
async function expectEqual(mirror: Mirror, projectId: string): Promise<void> {
  await mirror.reach(await versionOf(ada, projectId))
  expect([...mirror.values()]).toEqual(await docket.tasks.list({ projectId }).all())
}

/** Names with a colon stand for ids. An undo without a body undoes the last change. */
type Change = [method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object]
const undoing: Change = ['POST', '/projects/:project/undo']
const deleting: Change = ['DELETE', '/fields/:field']
const creating = (field: object): Change => ['POST', '/projects/:project/fields', { name: 'F', ...field }]
const note = { key: 'note', type: 'text' }
const size = { key: 'size', type: 'choice', options: ['S', 'L'] }

/** Each case hides a label, a blocker or a value. After the start of the mirror, it shows ids or values again. */
test.each<[title: string, hide: Change, show: Change[]]>([
  ['a label is restored', ['DELETE', '/labels/:label'], [undoing]],
  ['a blocker is restored', ['DELETE', '/tasks/:blocker'], [undoing]],
  ['a field is restored', deleting, [undoing]],
  ['an option is restored', ['PATCH', '/fields/:choice', { options: ['S'] }], [undoing]],
  ['a field of the same type replaces a deleted field', deleting, [creating(note)]],
  [
    'a field of another type replaces a deleted field',
    deleting,
    [
      creating({ ...size, key: 'note', options: ['In brass'] }),
      creating({ key: 'done', type: 'boolean' }),
      ['PATCH', '/tasks/:task', { fields: { done: true } }],
    ],
  ],
])('a mirror shows ids and values again when %s', async (_, hide, show) => {
  const { id: projectId, project } = await newProject()
  const ids: Record<string, string> = { project: projectId }
  const send = async ([method, path, body]: Change) => {
    const filled = path.replace(/:(\w+)/g, (_, name: string) => ids[name]!)
    const seq = await versionOf(ada, projectId)
    return (await ada.call(method, filled, body ?? (method === 'POST' ? { seq } : undefined))).body.id
  }
  ids.blocker = await send(['POST', '/tasks', { projectId, title: 'Blocker' }])
  ids.label = await send(['POST', '/projects/:project/labels', { name: 'bug' }])
  ids.field = await send(creating(note))
  ids.choice = await send(creating(size))
  const more = { labelIds: [ids.label], blockedByIds: [ids.blocker], fields: { note: 'In brass', size: 'L' } }
  ids.task = await send(['POST', '/tasks', { projectId, title: 'Blocked', ...more }])
  await send(hide)
  const stop = new AbortController()
  const mirror = project.mirror({ signal: stop.signal })
  await mirror.ready
  for (const one of show) await send(one)
  await expectEqual(mirror, projectId)
  stop.abort()
})

test('a mirror reads its snapshot and the later events with one request', async () => {
  const { id } = await newProject(3)
  const stop = new AbortController()
  const sent: string[] = []
  const counted = open({ fetch: (url, init) => (sent.push(url), send(url, init)) })
  const mirror = counted.project(id).mirror({ signal: stop.signal })
  await mirror.ready
  await docket.tasks.create({ projectId: id, title: 'New' })
  await expectEqual(mirror, id)
  expect(sent).toEqual([expect.stringContaining(`${id}/events?snapshot=tasks%2Clabels%2Cfields`)])
  stop.abort()
})

test('without streams, a snapshot of pages is consistent while others write', async () => {
  const { id, project } = await newProject()
  const { id: label } = await docket.labels.create({ projectId: id, name: 'bug' })
  await project.batch((b) =>
    upTo(500).forEach((n) => void b.task.create({ title: `T${n}`, labelIds: [label] })),
  )
  const stop = new AbortController()
  let pages = 0
  const busy = open({
    async fetch(url, init) {
      if (url.includes('snapshot=')) return new Response('Forbidden', { status: 403 })
      const response = await send(url, init)
      if (!url.includes('/tasks?') || ++pages > 4) return response
      const { body } = await ada.get(`/tasks?projectId=${id}&limit=200`)
      await ada.patch(`/tasks/${body.at(-1)!.id}`, { title: `Page ${pages}` })
      await ada.delete(`/tasks/${body[0]!.id}`)
      await ada.delete(`/labels/${label}`)
      if (pages === 2) await ada.post(`/projects/${id}/undo`, { seq: await versionOf(ada, id) })
      return response
    },
  })
  const mirror = busy.project(id).mirror({ signal: stop.signal })
  await mirror.ready
  expect(pages).toBeGreaterThan(4)
  const { seq: asOf } = mirror
  expect([...mirror.values()]).toEqual(await docket.tasks.list({ projectId: id, asOf }).all())
  await expectEqual(mirror, id)
  stop.abort()
})

test('a mirror ends without an error when its signal aborts, and with an error if the caller may not read', async () => {
  const { id, project } = await newProject()
  const stop = new AbortController()
  const mirror = project.mirror({ signal: stop.signal })
  stop.abort()
  await Promise.all([mirror.ready, mirror.ended])
  const grace = await join(id, 'Grace')
  const other = grace.docket.project(id).mirror()
  await other.ready
  await grace.leave()
  await expect(other.ended).rejects.toBeInstanceOf(NotFoundError)
})

test('stores new fields of a task that moved in, and no children, also of an entity that a newer service added', () => {
  const replica = new Replica({ tasks: [], labels: [], fields: [] })
  const task = { id: 'a', labelIds: [], blockedByIds: [], fields: {}, claim: null, estimate: 3 }
  const after = { ...task, subtasks: [], comments: [{ id: 'b' }], votes: [{ id: 'c' }] }
  const event = { type: 'task.moved_in', entity: 'task', entityId: 'a', before: null, after }
  replica.apply(event as never)
  expect(replica.task('a') as object).toEqual(task)
})

const steps = (maxLength: number) =>
  fc.array(
    step.filter(({ verb }) => verb !== 'deleteProject'),
    { minLength: maxLength / 2, maxLength },
  )

test('a mirror equals the tasks of the service at every version, under random writes', async () => {
  const people = [ada, ...(await Promise.all(upTo(3).map(() => register(service.client))))]
  const property = fc.asyncProperty(steps(40), steps(60), async (before, during) => {
    const { world, run } = await openWorld([people, people])
    const { id } = world.projects[0]!
    for (const one of before) await run(one)
    const stop = new AbortController()
    const mirror = docket.project(id).mirror({ signal: stop.signal })
    try {
      for (const one of during) {
        await run(one)
        await expectEqual(mirror, id)
      }
    } finally {
      stop.abort()
    }
  })
  await fc.assert(property, { numRuns: cases(3) })
})

async function openCollection() {
  const { id: projectId, list } = await newProject(1)
  const tasks = createCollection(docketCollection({ docket, projectId }))
  await tasks.preload()
  return { projectId, tasks, list }
}

describe('a collection', () => {
  test('shows the tasks of a project, and the changes of other clients', async () => {
    const { projectId, tasks } = await openCollection()
    const { id } = await docket.tasks.create({ projectId, title: 'Oil' })
    await eventually('the new task', () => tasks.get(id)?.title === 'Oil')
    await docket.tasks.delete(id)
    await eventually('the deletion', () => !tasks.has(id))
    expect(tasks.toArray.map(({ title }) => title)).toEqual(['T1'])
    await tasks.cleanup()
  })

  test('shows inserts, updates and deletes at once, commits them, and rolls back a rejected change', async () => {
    const { projectId, tasks, list } = await openCollection()
    await docket.fields.create({ projectId, key: 'note', name: 'Note', type: 'text' })
    const cast = newTask({ projectId, title: 'Cast', fields: { note: 'L' } })
    const inserted = tasks.insert([cast, newTask({ projectId, title: 'Mount', blockedByIds: [cast.id] })])
    expect(tasks.get(cast.id)?.number).toBe(0)
    await inserted.isPersisted.promise
    expect(tasks.get(cast.id)).toMatchObject({ number: 2, fields: { note: 'L' } })
    const [first] = await list()
    const updated = tasks.update([cast.id, first!.id], (drafts) => {
      for (const draft of drafts) Object.assign(draft, { status: 'IN_PROGRESS', fields: {} })
    })
    expect(tasks.get(cast.id)?.status).toBe('IN_PROGRESS')
    await updated.isPersisted.promise
    await tasks.delete(first!.id).isPersisted.promise
    const rows = await list()
    expect(rows.map(({ title, status, fields }) => [title, status, fields])).toEqual([
      ['Cast', 'IN_PROGRESS', {}],
      ['Mount', 'TODO', {}],
    ])
    for (const row of rows) expect(tasks.get(row.id)).toMatchObject(row)
    const invalid = tasks.insert([newTask({ projectId, title: 'Oil' }), newTask({ projectId, title: '' })])
    await expect(invalid.isPersisted.promise).rejects.toThrow('operations[1]: title')
    expect(tasks.size).toBe(2)
    await tasks.cleanup()
  })

  test('commits a change of a text in a strict project, unless another client has changed the text', async () => {
    const { projectId, tasks } = await openCollection()
    await docket.projects.update(projectId, { textEdits: 'if-match' })
    const { id } = tasks.toArray[0]!
    await tasks.update(id, (draft) => void (draft.title = 'Draw it')).isPersisted.promise
    expect(await docket.tasks.get(id)).toMatchObject({ title: 'Draw it' })
    const stale = docketCollection({ docket, projectId }).onUpdate
    const original = { ...tasks.get(id)!, title: 'Draw' }
    const mutations = [{ key: id, original, changes: { title: 'Mend' } }]
    const late = stale({ transaction: { mutations } } as never)
    await expect(late).rejects.toBeInstanceOf(PreconditionRequiredError)
    expect(await docket.tasks.get(id)).toMatchObject({ title: 'Draw it' })
    await tasks.cleanup()
  })

  test('has the status error if the caller may not read the project', async () => {
    const client = open({ token: 'invalid' })
    const tasks = createCollection(docketCollection({ docket: client, projectId: (await newProject()).id }))
    await expect(tasks.preload()).rejects.toBeInstanceOf(UnauthorizedError)
    expect(tasks.status).toBe('error')
  })
})
