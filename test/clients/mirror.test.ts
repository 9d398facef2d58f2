import fc from 'fast-check'
import { createCollection } from '@tanstack/db'
import {
  NotFoundError,
  PreconditionRequiredError,
  UnauthorizedError,
} from '../../clients/typescript/src/errors.ts'
import { Replica } from '../../clients/typescript/src/feed/replica.ts'
import { docketCollection, newTask } from '../../clients/typescript/src/tanstack.ts'
import { cases, eventually, upTo, versionOf } from '../kit.ts'
import type { Mirror } from '../../clients/typescript/src/feed/mirror.ts'
import { openClientScene } from './scene.ts'

const { ada, docket, open, send, newProject, join } = await openClientScene()

/** Waits until the mirror shows the current version of the project. */
async function expectEqual(mirror: Mirror, projectId: string): Promise<void> {
  await mirror.reach(await versionOf(ada, projectId))
  expect([...mirror.values()]).toEqual(await docket.tasks.list({ projectId }).all())
}

const undo = async (project: string) =>
  ada.post(`/projects/${project}/undo`, { seq: await versionOf(ada, project) })
const fieldIn = (projectId: string, over: object = {}) =>
  docket.fields.create({ projectId, key: 'note', name: 'Note', type: 'text', ...over })

type Ids = Record<'project' | 'task' | 'blocker' | 'label' | 'field', string>
type Change = (ids: Ids) => Promise<unknown>

/** Each case hides a label, a blocker or a value. After the start of the mirror, it shows ids or values again. */
const hidden: [title: string, before: Change, after: Change][] = [
  ['a label is restored', ({ label }) => docket.labels.delete(label), ({ project }) => undo(project)],
  ['a blocker is restored', ({ blocker }) => docket.tasks.delete(blocker), ({ project }) => undo(project)],
  ['a field is restored', ({ field }) => docket.fields.delete(field), ({ project }) => undo(project)],
  [
    'a field of the same type replaces a deleted field',
    ({ field }) => docket.fields.delete(field),
    ({ project }) => fieldIn(project),
  ],
  [
    'a field of another type replaces a deleted field',
    ({ field }) => docket.fields.delete(field),
    async ({ project, task }) => {
      await fieldIn(project, { type: 'choice', options: ['In brass'] })
      await fieldIn(project, { key: 'done', type: 'boolean' })
      await docket.tasks.update(task, { fields: { done: true } })
    },
  ],
  [
    'an option is restored',
    async ({ project, task }) => {
      const { id } = await fieldIn(project, { key: 'size', type: 'choice', options: ['S', 'L'] })
      await docket.tasks.update(task, { fields: { size: 'L' } })
      await docket.fields.update(id, { options: ['S'] })
    },
    ({ project }) => undo(project),
  ],
]

test.each(hidden)('a mirror shows ids and values again when %s', async (_, before, after) => {
  const { id: projectId, project } = await newProject()
  const { id: blocker } = await docket.tasks.create({ projectId, title: 'Blocker' })
  const { id: label } = await docket.labels.create({ projectId, name: 'bug' })
  const { id: field } = await fieldIn(projectId)
  const more = { labelIds: [label], blockedByIds: [blocker], fields: { note: 'In brass' } }
  const { id: task } = await docket.tasks.create({ projectId, title: 'Blocked', ...more })
  const ids = { project: projectId, task, blocker, label, field }
  await before(ids)
  const stop = new AbortController()
  const mirror = project.mirror({ signal: stop.signal })
  await mirror.ready
  await after(ids)
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
      if (pages === 2) await undo(id)
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

/** Sends a random write, which the service may reject. */
async function write([project, other]: string[], [kind = 0, n = 0, m = 0]: number[]): Promise<void> {
  const pick = async (path: string, index: number) => {
    const { body } = await ada.get(path)
    return body[index % Math.max(1, body.length)]?.id
  }
  const task = await pick(`/tasks?projectId=${project}`, n)
  const second = await pick(`/tasks?projectId=${project}`, m)
  const moved = await pick(`/tasks?projectId=${other}`, n)
  const label = await pick(`/projects/${project}/labels`, n)
  const field = await pick(`/projects/${project}/fields`, n)
  const version = await versionOf(ada, project!)
  const seqs = [version, version - 1, version - 2].filter((seq) => seq > 1)
  const options = ['small', 'large']
  const writes: [method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object][] = [
    ['POST', '/tasks', { projectId: project, title: `T${n}` }],
    ['POST', '/tasks', { projectId: project, title: 'Blocked', blockedByIds: [task] }],
    ['PATCH', `/tasks/${task}`, { title: `U${m}`, priority: 'HIGH' }],
    ['PATCH', `/tasks/${task}`, { addBlockedByIds: [second] }],
    ['PATCH', `/tasks/${task}`, { addLabelIds: [label] }],
    ['PATCH', `/tasks/${task}`, { fields: { size: options[m % 2] } }],
    ['PATCH', `/tasks/${task}`, { fields: { note: `N${m}` } }],
    ['DELETE', `/tasks/${task}`],
    ['PATCH', `/tasks/${task}`, { projectId: other }],
    ['PATCH', `/tasks/${moved}`, { projectId: project }],
    ['POST', `/projects/${project}/labels`, { name: `L${n}` }],
    ['DELETE', `/labels/${label}`],
    ['POST', `/projects/${project}/fields`, { key: 'size', name: 'Size', type: 'choice', options }],
    ['POST', `/projects/${project}/fields`, { key: 'note', name: 'Note', type: 'text' }],
    ['DELETE', `/fields/${field}`],
    ['PATCH', `/fields/${field}`, { options: m % 2 ? ['large'] : options }],
    ['POST', `/projects/${project}/undo`, { seq: Math.max(1, version - (n % 6)) }],
    ['POST', `/projects/${project}/undo`, { seqs }],
    ['POST', `/tasks/${task}/claim`, { leaseSeconds: 300 }],
    ['POST', `/tasks/${task}/subtasks`, { title: 'Part' }],
  ]
  await ada.call(...writes[kind % writes.length]!)
}

const writes = (maxLength: number) =>
  fc.array(fc.tuple(fc.nat(19), fc.nat(20), fc.nat(20)), { minLength: maxLength / 2, maxLength })

test('a mirror equals the tasks of the service at every version, under random writes', async () => {
  const property = fc.asyncProperty(writes(30), writes(40), async (before, during) => {
    const projects = [(await newProject()).id, (await newProject()).id] as const
    for (const one of before) await write([...projects], one)
    const stop = new AbortController()
    const mirror = docket.project(projects[0]).mirror({ signal: stop.signal })
    try {
      for (const one of during) {
        await write([...projects], one)
        await expectEqual(mirror, projects[0])
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
    expect(tasks.toArray.map(({ title }) => title)).toEqual(['T1'])
    const other = await docket.tasks.create({ projectId, title: 'Oil' })
    await eventually('the new task', () => tasks.get(other.id)?.title === 'Oil')
    await docket.tasks.update(other.id, { status: 'DONE' })
    await eventually('the change', () => tasks.get(other.id)?.status === 'DONE')
    await docket.tasks.delete(other.id)
    await eventually('the deletion', () => !tasks.has(other.id))
    await tasks.cleanup()
  })

  test('shows inserts, updates and deletes at once, commits them, and rolls back a rejected change', async () => {
    const { projectId, tasks, list } = await openCollection()
    await fieldIn(projectId)
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
