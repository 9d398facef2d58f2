import { anId, aTimestamp, changesOf, expectError, expectResponse, expectUndone, faultsOf } from '../kit.ts'
import { invite, make, newId, openUndoScene, upTo } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

type LabelledTask = Body & { labelIds: string[]; color: string | null }

const labelsOf = ({ body }: Answer): string[] => (body as LabelledTask).labelIds
const listedLabels = ({ body }: Answer): string[][] =>
  (body as unknown as LabelledTask[]).map(({ labelIds }) => labelIds)

/** Before each test, creates Ada's project with a task, events 1 and 2. */
async function openLabelScene() {
  const scene = await openUndoScene()
  beforeEach(async () => void (await scene.setUp()))
  const { ada } = scene
  const labelsIn = (projectId = scene.project.id) => `/projects/${projectId}/labels`
  const create = async (name: string, projectId?: string) =>
    (await make(ada, labelsIn(projectId), { name })).id
  return Object.assign(scene, {
    labelsIn,
    create,
    async createAll(...names: string[]) {
      const ids: string[] = []
      for (const name of names) ids.push(await create(name))
      return ids as [string, string, ...string[]]
    },
    patch: (fields: object, id = scene.task.id) => ada.patch(`/tasks/${id}`, fields),
    shown: async (query = '') => labelsOf(await ada.get(`/tasks/${scene.task.id}${query}`)),
    namesIn: async (projectId: string, query = '') =>
      (await ada.get(labelsIn(projectId) + query)).body.map(({ name }) => name),
  })
}

const errorOf = ({ status, body }: Answer) => [status, body.message]
const scene = await openLabelScene()
const { ada, bea, undo, batch, version, create, createAll, labelsIn, namesIn, patch, shown } = scene

test('a label has a trimmed name and a color, and is listed, also as of a version', async () => {
  const answer = await ada.post(labelsIn(), { name: ' Bug ', color: '#D73a4a' })
  const label = {
    id: anId,
    projectId: scene.project.id,
    name: 'Bug',
    color: '#D73a4a',
    createdAt: aTimestamp,
  }
  expectResponse(answer, 201, label)
  const { id } = answer.body
  expect(answer.headers.get('location')).toEndWith(`/labels/${id}`)
  const changed = await ada.patch(`/labels/${id}`, { name: 'Fault', color: null })
  expectResponse(changed, 200, { ...answer.body, name: 'Fault', color: null })
  expect(await namesIn(scene.project.id)).toEqual(['Fault'])
  expect(await namesIn(scene.project.id, '?asOf=3')).toEqual(['Bug'])
  expectResponse(await ada.delete(`/labels/${id}`), 200, { message: 'Label deleted successfully' })
  expectError(await ada.patch(`/labels/${id}`, { name: 'N' }), 404, 'Label not found')
  expect(await namesIn(scene.project.id)).toEqual([])
})

test('rejects invalid names and colors with 400', async () => {
  const name =
    'name must be a text of 1 to 50 characters, without control or bidirectional-override characters'
  for (const invalid of ['', '  ', 'x'.repeat(51), 'a\nb', 7])
    expectError(await ada.post(labelsIn(), { name: invalid }), 400, name)
  expectError(await ada.post(labelsIn(), {}), 400)
  const color = 'color must be a color in the form #rrggbb, or null'
  for (const invalid of ['red', '#fff', 'd73a4a', '#d73a4a0', '#d73a4g', 7])
    expectError(await ada.post(labelsIn(), { name: 'N', color: invalid }), 400, color)
  await make(ada, labelsIn(), { name: 'x'.repeat(50) })
})

test('a name is unique in its project without regard to case, also for renames and undos', async () => {
  const taken = 'The project already has a label named Bug'
  const id = await create('Bug')
  const other = await create('Other')
  expectError(await ada.post(labelsIn(), { name: ' bUG' }), 409, taken)
  expectError(await ada.patch(`/labels/${other}`, { name: 'BUG' }), 409, taken)
  expect((await ada.patch(`/labels/${id}`, { name: 'bug' })).body.name).toBe('bug')
  const otherProject = await make(ada, '/projects', { name: 'P' })
  await create('Bug', otherProject.id)
  await ada.patch(`/labels/${id}`, { name: 'Fault' })
  await ada.patch(`/labels/${other}`, { name: 'BUG' })
  expectError(await undo({ seq: 6 }), 409, 'The project already has a label named BUG')
  await ada.delete(`/labels/${other}`)
  await create('Bug')
  expectError(await undo({ seq: 8 }), 409, taken)
  await create('É')
  expectError(await ada.post(labelsIn(), { name: 'e\u0301' }), 409, 'The project already has a label named É')
})

test('a VIEWER reads labels, and an EDITOR writes them', async () => {
  const id = await create('Bug')
  expectError(await bea.get(labelsIn()), 404, 'Project not found')
  expectError(await bea.patch(`/labels/${id}`, { name: 'N' }), 404, 'Label not found')
  const member = await invite(ada, scene.project.id, bea)
  expect((await bea.get(labelsIn())).body).toHaveLength(1)
  expectError(await bea.post(labelsIn(), { name: 'N' }), 403)
  expectError(await bea.delete(`/labels/${id}`), 403)
  await ada.patch(`/projects/${scene.project.id}/members/${member.id}/role`, { role: 'EDITOR' })
  await make(bea, labelsIn(), { name: 'N' })
})

test('labelIds has the order that the client sent, and is empty by default', async () => {
  expect((scene.task as LabelledTask).labelIds).toEqual([])
  const [a, b, c] = await createAll('a', 'b', 'c')
  const made = (await make(ada, '/tasks', {
    title: 'T',
    projectId: scene.project.id,
    labelIds: [c, a],
  })) as LabelledTask
  expect(made.labelIds).toEqual([c!, a])
  expect(labelsOf(await patch({ labelIds: [b, a, c] }))).toEqual([b, a, c!])
  expect(await shown()).toEqual([b, a, c!])
  const list = await ada.get(`/tasks?projectId=${scene.project.id}`)
  expect(listedLabels(list)).toEqual([
    [b, a, c!],
    [c!, a],
  ])
  const seq = await version()
  expect(labelsOf(await patch({ labelIds: [b, a, c], title: scene.task.title }))).toEqual([b, a, c!])
  expect(await version()).toBe(seq)
  expect(labelsOf(await patch({ labelIds: [] }))).toEqual([])
  expect(await shown()).toEqual([])
  expect(await shown(`?asOf=${seq}`)).toEqual([b, a, c!])
})

test('rejects unknown, repeated and too many label ids with 400', async () => {
  const [a] = await createAll('a')
  const other = await make(ada, '/projects', { name: 'P' })
  const foreign = await create('a', other.id)
  for (const field of ['labelIds', 'addLabelIds']) {
    const unknown = `${field} must be the ids of labels in the project`
    for (const id of [foreign, newId(), scene.task.id, 'x'])
      expectError(await patch({ [field]: [a, id] }), 400, unknown)
    expectError(await patch({ [field]: [a, a.toUpperCase()] }), 400, unknown)
    const invalid = `${field} must be a list of at most 50 ids of labels, without duplicates`
    const tooMany = upTo(51).map(() => newId())
    for (const ids of [[a, a], tooMany, a, null, [7]])
      expectError(await patch({ [field]: ids }), 400, invalid)
  }
  expectError(await ada.post('/tasks', { title: 'T', projectId: scene.project.id, labelIds: [foreign] }), 400)
  for (const edit of ['addLabelIds', 'removeLabelIds'])
    expectError(
      await patch({ labelIds: [], [edit]: [a] }),
      400,
      'Send labelIds, or addLabelIds and removeLabelIds',
    )
})

test('adds labels at the end and removes labels; adding a present label or removing an absent label changes nothing', async () => {
  const [a, b, c] = await createAll('a', 'b', 'c')
  expect(labelsOf(await patch({ addLabelIds: [b, a] }))).toEqual([b, a])
  const before = await version()
  expect(labelsOf(await patch({ addLabelIds: [a], removeLabelIds: [c, newId()] }))).toEqual([b, a])
  expect(await version()).toBe(before)
  expect(labelsOf(await patch({ addLabelIds: [c, b], removeLabelIds: [a] }))).toEqual([b, c!])
  expect(labelsOf(await patch({ removeLabelIds: [b, c] }))).toEqual([])
  const [stored] = await scene.sql`select label_ids from tasks where id = ${scene.task.id}`
  expect(stored!.labelIds).toBeNull()
})

test('a task has at most 50 labels; adding another label gets 409', async () => {
  const ids = await createAll(...upTo(51).map(String))
  await patch({ labelIds: ids.slice(0, 50) })
  expectError(await patch({ addLabelIds: [ids[50]] }), 409, 'A task has at most 50 labelIds')
  expect(labelsOf(await patch({ addLabelIds: [ids[50]], removeLabelIds: [ids[0]] }))).toEqual(ids.slice(1))
  await ada.delete(`/labels/${ids[1]}`)
  expect(labelsOf(await patch({ addLabelIds: [ids[0]] }))).toEqual([...ids.slice(2), ids[0]!])
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a batch creates labels and tasks that refer to them by name', async () => {
  const [a] = await createAll('a')
  const operations = [
    { op: 'label.create', as: 'new', name: 'new' },
    { op: 'task.create', as: 'task', title: 'T', labelIds: [a, '#new'] },
    { op: 'task.update', id: scene.task.id, addLabelIds: ['#new'], was: { labelIds: [] } },
    { op: 'task.update', id: scene.task.id, addLabelIds: [a], removeLabelIds: ['#new'] },
    { op: 'label.update', id: '#new', name: 'newer' },
  ]
  const { status, text, body } = await batch(operations, {}, '?return=full')
  expect([status, text]).toEqual([200, text])
  const { results } = body as unknown as { results: LabelledTask[] }
  const id = results[0]!.id
  expect(results.slice(1, 4).map(({ labelIds }) => labelIds)).toEqual([[a, id], [id], [a]])
  const same = [
    { op: 'label.create', as: 'same', id: newId(), name: 'same' },
    { op: 'task.update', id: scene.task.id, addLabelIds: [newId()] },
  ]
  expect(errorOf(await batch(same))).toEqual([
    400,
    'operations[1]: addLabelIds must be the ids of labels in the project',
  ])
})

test('a deleted label disappears from every response at once, ETags change, and an undo restores the label', async () => {
  const [a, b] = await createAll('a', 'b')
  await patch({ labelIds: [a, b] })
  const [one, list] = [`/tasks/${scene.task.id}`, `/tasks?projectId=${scene.project.id}`]
  const etags = async () =>
    Promise.all([one, list].map(async (path) => (await ada.get(path)).headers.get('etag')))
  const before = await etags()
  await ada.delete(`/labels/${a}`)
  const seq = await version()
  expect(await shown()).toEqual([b])
  expect(listedLabels(await ada.get(list))).toEqual([[b]])
  const during = await etags()
  for (const n of [0, 1]) expect(during[n]).not.toBe(before[n]!)
  expect(await shown(`?asOf=${seq}`)).toEqual([b])
  expect(await shown(`?asOf=${seq - 1}`)).toEqual([a, b])
  expectError(await patch({ addLabelIds: [a] }), 400)
  expect(labelsOf(await patch({ labelIds: [b] }))).toEqual([b])
  expect(changesOf(expectUndone(await undo({ seq })))).toEqual([`label.created ${seq}`])
  expect(await shown()).toEqual([a, b])
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('undoes changes of labels, also if a label was deleted in between', async () => {
  const [a, b] = await createAll('a', 'b')
  await patch({ addLabelIds: [a, b] })
  const added = await version()
  await ada.delete(`/labels/${a}`)
  expectUndone(await undo({ seq: added }))
  expect(await shown()).toEqual([])
  expectUndone(await undo({ seq: added + 1 }))
  expect(await shown()).toEqual([])
  expectUndone(await undo({ seq: added + 2 }))
  expect(await shown()).toEqual([a, b])
  await patch({ removeLabelIds: [a] })
  const removed = await version()
  await patch({ addLabelIds: [a] })
  expectError(await undo({ seq: removed }), 409, /labelIds/)
  expectError(await undo({ seq: 2 }), 409, /labelIds changed since/)
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a move maps labels by name without regard to case, and creates the missing labels in the same commit', async () => {
  const ids = await createAll('Bug', 'New', 'Gone')
  await ada.patch(`/labels/${ids[1]}`, { color: '#00ff00' })
  await patch({ labelIds: ids })
  await ada.delete(`/labels/${ids[2]}`)
  const to = await make(ada, '/projects', { name: 'To' })
  const bug = await create('bUG', to.id)
  const moved = await patch({ projectId: to.id })
  const labels = (await ada.get(labelsIn(to.id))).body as unknown as LabelledTask[]
  expect(labels.map(({ name, color }) => [name, color])).toEqual([
    ['bUG', null],
    ['New', '#00ff00'],
  ])
  expect(labelsOf(moved)).toEqual([bug, labels[1]!.id])
  expect(await ada.get(`/tasks/${scene.task.id}`)).toMatchObject({ text: moved.text })
  expect((await ada.get(`/tasks/${scene.task.id}`)).headers.get('etag')).toBe(moved.headers.get('etag'))
  const events = (await ada.get(`/projects/${to.id}/events?after=2`)).body as unknown as { type: string }[]
  expect(events.map(({ type }) => type)).toEqual(['label.created', 'task.moved_in'])
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a move may set or change the labels, with ids of the other project', async () => {
  const [a, b] = await createAll('a', 'b')
  await patch({ labelIds: [a, b] })
  const to = await make(ada, '/projects', { name: 'To' })
  const c = await create('c', to.id)
  expectError(await patch({ projectId: to.id, addLabelIds: [a] }), 400)
  const added = labelsOf(await patch({ projectId: to.id, addLabelIds: [c] }))
  expect(await namesIn(to.id)).toEqual(['c', 'a', 'b'])
  expect(added.at(-1)).toBe(c)
  const back = await patch({ projectId: scene.project.id, labelIds: [b] })
  expect(labelsOf(back)).toEqual([b])
  expect(await namesIn(scene.project.id)).toEqual(['a', 'b'])
})

test('a project has at most 500 labels; creating, restoring or moving another label gets 409', async () => {
  const names = upTo(500).map((n) => ({ op: 'label.create', name: `L${n}` }))
  expect((await batch(names)).status).toBe(200)
  const most = 'A project has at most 500 labels'
  expectError(await ada.post(labelsIn(), { name: 'More' }), 409, most)
  const [first] = (await ada.get(labelsIn())).body
  await ada.delete(`/labels/${first!.id}`)
  await create('More')
  expectError(await undo({ seq: 503 }), 409, most)
  const from = await make(ada, '/projects', { name: 'From' })
  const ids = [await create('l7', from.id), await create('New', from.id)]
  const other = await make(ada, '/tasks', { title: 'T', projectId: from.id, labelIds: ids })
  expectError(await patch({ projectId: scene.project.id }, other.id), 409, most)
  const twice = await patch({ projectId: scene.project.id, removeLabelIds: [], labelIds: [] }, other.id)
  expectError(twice, 400, 'Send labelIds, or addLabelIds and removeLabelIds')
  const moved = await patch({ projectId: scene.project.id, labelIds: [] }, other.id)
  expect([moved.status, labelsOf(moved)]).toEqual([200, []])
})
