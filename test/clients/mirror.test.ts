import fc from 'fast-check'
import { NotFoundError } from '../../clients/typescript/src/errors.ts'
import { Replica } from '../../clients/typescript/src/feed/replica.ts'
import { cases, make, register, upTo, versionOf } from '../kit.ts'
import type { Mirror } from '../../clients/typescript/src/feed/mirror.ts'
import { openClientScene } from './scene.ts'

async function openMirrorScene() {
  const scene = await openClientScene()
  const { ada, docket } = scene
  const rowsOf = (projectId: string, asOf?: number) =>
    docket.tasks.list({ projectId, ...(asOf && { asOf }) }).all()
  return {
    ...{ ...scene, rowsOf },
    newProject: async () => (await docket.projects.create({ name: 'Engine' })).id,
    /** Waits until the mirror shows the current version of the project. */
    async expectEqual(mirror: Mirror, projectId: string): Promise<void> {
      await mirror.reach(await versionOf(ada, projectId))
      expect([...mirror.values()]).toEqual(await rowsOf(projectId))
    },
  }
}

const { service, ada, docket, open, send, newProject, expectEqual, rowsOf } = await openMirrorScene()

interface Scene {
  project: string
  task: string
  blocker: string
  label: string
  field: string
}

const created = async (path: string, body: object) => (await make(ada, path, body)).id
const undoLast = async ({ project }: Scene) =>
  ada.post(`/projects/${project}/undo`, { seq: await versionOf(ada, project) })
const createNote = (project: string, over: object) =>
  created(`/projects/${project}/fields`, { key: 'note', name: 'Note', type: 'text', ...over })

/** Each case first hides a label, a blocker or a value. After the start of the mirror, it shows ids or values again. */
const hidden: Record<
  string,
  [before: (scene: Scene) => Promise<unknown>, after: (scene: Scene) => Promise<unknown>]
> = {
  'a label is restored': [({ label }) => ada.delete(`/labels/${label}`), undoLast],
  'a blocker is restored': [({ blocker }) => ada.delete(`/tasks/${blocker}`), undoLast],
  'a field is restored': [({ field }) => ada.delete(`/fields/${field}`), undoLast],
  'a field of the same type replaces a deleted field': [
    ({ field }) => ada.delete(`/fields/${field}`),
    ({ project }) => createNote(project, {}),
  ],
  'a field of another type replaces a deleted field': [
    ({ field }) => ada.delete(`/fields/${field}`),
    async ({ project, task }) => {
      await createNote(project, { type: 'choice', options: ['In brass'] })
      await created(`/projects/${project}/fields`, { key: 'done', name: 'Done', type: 'boolean' })
      await ada.patch(`/tasks/${task}`, { fields: { done: true } })
    },
  ],
  'an option is restored': [
    async ({ project, task }) => {
      const id = await created(`/projects/${project}/fields`, {
        key: 'size',
        name: 'Size',
        type: 'choice',
        options: ['S', 'L'],
      })
      await ada.patch(`/tasks/${task}`, { fields: { size: 'L' } })
      await ada.patch(`/fields/${id}`, { options: ['S'] })
    },
    undoLast,
  ],
}

test.each(Object.entries(hidden))(
  'a mirror shows ids and values again when %s',
  async (_, [before, after]) => {
    const project = await newProject()
    const blocker = await created('/tasks', { projectId: project, title: 'Blocker' })
    const label = await created(`/projects/${project}/labels`, { name: 'bug' })
    const field = await createNote(project, {})
    const more = { labelIds: [label], blockedByIds: [blocker], fields: { note: 'In brass' } }
    const task = await created('/tasks', { projectId: project, title: 'Blocked', ...more })
    const scene = { project, task, blocker, label, field }
    await before(scene)
    const stop = new AbortController()
    const mirror = docket.project(project).mirror({ signal: stop.signal })
    await mirror.ready
    await after(scene)
    await expectEqual(mirror, project)
    stop.abort()
  },
)

test('a mirror reads its snapshot and the later events with one request', async () => {
  const project = await newProject()
  for (const n of upTo(3)) await created('/tasks', { projectId: project, title: `T${n}` })
  const stop = new AbortController()
  const sent: string[] = []
  const counted = open({ fetch: (url, init) => (sent.push(url), send(url, init)) })
  const mirror = counted.project(project).mirror({ signal: stop.signal })
  await mirror.ready
  await created('/tasks', { projectId: project, title: 'New' })
  await expectEqual(mirror, project)
  expect(sent).toEqual([expect.stringContaining(`${project}/events?snapshot=tasks%2Clabels%2Cfields`)])
  stop.abort()
})

test('without streams, a snapshot of pages is consistent while others write', async () => {
  const project = await newProject()
  const label = await created(`/projects/${project}/labels`, { name: 'bug' })
  const batch = {
    operations: upTo(500).map((n) => ({ op: 'task.create', title: `T${n}`, labelIds: [label] })),
  }
  await ada.post(`/projects/${project}/batch`, batch)
  const stop = new AbortController()
  const pages: string[] = []
  const busy = open({
    async fetch(url, init) {
      if (url.includes('snapshot=')) return new Response('Forbidden', { status: 403 })
      const response = await send(url, init)
      if (!url.includes('/tasks?') || pages.push(url) > 4) return response
      const { body } = await ada.get(`/tasks?projectId=${project}&limit=200`)
      await ada.patch(`/tasks/${body.at(-1)!.id}`, { title: `Page ${pages.length}` })
      await ada.delete(`/tasks/${body[0]!.id}`)
      await ada.delete(`/labels/${label}`)
      if (pages.length === 2)
        await ada.post(`/projects/${project}/undo`, { seq: await versionOf(ada, project) })
      return response
    },
  })
  const mirror = busy.project(project).mirror({ signal: stop.signal })
  await mirror.ready
  expect(pages.length).toBeGreaterThan(4)
  const { seq } = mirror
  expect([...mirror.values()]).toEqual(await rowsOf(project, seq))
  await expectEqual(mirror, project)
  stop.abort()
})

test('a mirror ends without an error when its signal aborts, and with an error if the caller may not read', async () => {
  const project = await newProject()
  const stop = new AbortController()
  const mirror = docket.project(project).mirror({ signal: stop.signal })
  stop.abort()
  await Promise.all([mirror.ready, mirror.ended])
  const grace = await register(service.client, 'Grace')
  const { body: member } = await ada.post(`/projects/${project}/members/invite`, { email: grace.email })
  const other = open({ token: grace.token! }).project(project).mirror()
  await other.ready
  await ada.delete(`/projects/${project}/members/${member.id}`)
  await expect(other.ended).rejects.toBeInstanceOf(NotFoundError)
})

test('stores no children of a task that moved in, also of an entity that a newer service added', () => {
  const replica = new Replica({ tasks: [], labels: [], fields: [] })
  const task = { id: 'a', title: 'Draw', labelIds: [], blockedByIds: [], fields: {}, claim: null }
  const after = {
    ...task,
    subtasks: [],
    comments: [{ id: 'b' }],
    links: [],
    votes: [{ id: 'c' }],
    estimate: 3,
  }
  const event = { type: 'task.moved_in', entity: 'task', entityId: 'a', before: null, after }
  replica.apply(event as never)
  expect(replica.task('a') as object).toEqual({ ...task, estimate: 3 })
})

/** Sends a random write, which the service may reject. */
const tryPost = (path: string, body: object = {}) => ada.post(path, body)

async function write(
  [project, other]: [string, string],
  [kind, n, m]: [number, number, number],
): Promise<void> {
  const pick = async (path: string, i: number) => {
    const { body } = await ada.get(path)
    return body[i % Math.max(1, body.length)]?.id
  }
  const task = (i: number, of = project) => pick(`/tasks?projectId=${of}`, i)
  const patch = async (id: string | undefined, body: object) => id && (await ada.patch(`/tasks/${id}`, body))
  const labels = `/projects/${project}/labels`
  const fields = `/projects/${project}/fields`
  const version = await versionOf(ada, project)
  const writes: (() => Promise<unknown>)[] = [
    () => tryPost('/tasks', { projectId: project, title: `T${n}` }),
    async () => tryPost('/tasks', { projectId: project, title: 'Blocked', blockedByIds: [await task(n)] }),
    async () => patch(await task(n), { title: `U${m}`, priority: 'HIGH' }),
    async () => patch(await task(n), { addBlockedByIds: [await task(m)] }),
    async () => patch(await task(n), { addLabelIds: [await pick(labels, m)] }),
    async () => patch(await task(n), { fields: { size: ['small', 'large'][m % 2] } }),
    async () => patch(await task(n), { fields: { note: `N${m}` } }),
    async () => ada.delete(`/tasks/${await task(n)}`),
    async () => patch(await task(n), { projectId: other }),
    async () => patch(await task(n, other), { projectId: project }),
    () => tryPost(labels, { name: `L${n}` }),
    async () => ada.delete(`/labels/${await pick(labels, n)}`),
    () => tryPost(fields, { key: 'size', name: 'Size', type: 'choice', options: ['small', 'large'] }),
    () => tryPost(fields, { key: 'note', name: 'Note', type: 'text' }),
    async () => ada.delete(`/fields/${await pick(fields, n)}`),
    async () =>
      ada.patch(`/fields/${await pick(fields, n)}`, { options: m % 2 ? ['large'] : ['small', 'large'] }),
    () => tryPost(`/projects/${project}/undo`, { seq: Math.max(1, version - (n % 6)) }),
    () =>
      tryPost(`/projects/${project}/undo`, {
        seqs: [version, version - 1, version - 2].filter((seq) => seq > 1),
      }),
    async () => tryPost(`/tasks/${await task(n)}/claim`, { leaseSeconds: 300 }),
    async () => tryPost(`/tasks/${await task(n)}/subtasks`, { title: 'Part' }),
  ]
  await writes[kind % writes.length]!()
}

const writes = (maxLength: number) =>
  fc.array(fc.tuple(fc.nat(19), fc.nat(20), fc.nat(20)), { minLength: maxLength / 2, maxLength })

test('a mirror equals the tasks of the service at every version, under random writes', async () => {
  const property = fc.asyncProperty(writes(30), writes(40), async (before, during) => {
    const projects: [string, string] = [await newProject(), await newProject()]
    for (const one of before) await write(projects, one)
    const stop = new AbortController()
    const mirror = docket.project(projects[0]).mirror({ signal: stop.signal })
    try {
      for (const one of during) {
        await write(projects, one)
        await expectEqual(mirror, projects[0])
      }
    } finally {
      stop.abort()
    }
  })
  await fc.assert(property, { numRuns: cases(3) })
})
