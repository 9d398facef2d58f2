import { changesOf, expectError, expectUndone, faultsOf, make, upTo } from '../kit.ts'
import { labelsOf, type LabelledTask, listedLabels, openLabelScene } from './label-scene.ts'

const scene = await openLabelScene()
const { ada, undo, batch, version, create, createAll, labelsIn, namesIn, patch, shown } = scene

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
