import { expectError, faultsOf, make, openUndoScene, readFeed, upTo } from '../kit.ts'
import type { Body } from '../kit.ts'

type Labelled = Body & { labelIds: string[]; color: string | null }

const scene = await openUndoScene()
const { ada, batch, undo } = scene
beforeEach(async () => void (await scene.setUp()))

const labelsIn = (projectId = scene.project.id) => `/projects/${projectId}/labels`
const create = async (name: string, projectId?: string) => (await make(ada, labelsIn(projectId), { name })).id
const patch = (fields: object, id = scene.task.id) => ada.patch(`/tasks/${id}`, fields)
const idsIn = ({ body }: { body: Body }) => (body as Labelled).labelIds
const labelled = async (projectId: string) =>
  ((await ada.get(labelsIn(projectId))).body as unknown as Labelled[]).map(({ name, color }) => [name, color])

test('a name is unique in its project without regard to case, also for renames and undos', async () => {
  const taken = (name: string) => `The project already has a label named ${name}`
  const [id, other] = [await create('Bug'), await create('Other')]
  expectError(await ada.post(labelsIn(), { name: ' bUG' }), 409, taken('Bug'))
  expectError(await ada.patch(`/labels/${other}`, { name: 'BUG' }), 409, taken('Bug'))
  expect((await ada.patch(`/labels/${id}`, { name: 'bug' })).body.name).toBe('bug')
  await create('Bug', (await make(ada, '/projects', { name: 'P' })).id)
  await ada.patch(`/labels/${id}`, { name: 'Fault' })
  await ada.patch(`/labels/${other}`, { name: 'BUG' })
  expectError(await undo({ seq: 6 }), 409, taken('BUG'))
  await ada.delete(`/labels/${other}`)
  await create('Bug')
  expectError(await undo({ seq: 8 }), 409, taken('Bug'))
  await create('É')
  expectError(await ada.post(labelsIn(), { name: 'e\u0301' }), 409, taken('É'))
})

test('a move maps labels by name without regard to case, and creates the missing labels in the same commit', async () => {
  const ids = [await create('Bug'), await create('New'), await create('Gone')]
  await ada.patch(`/labels/${ids[1]}`, { color: '#00ff00' })
  await patch({ labelIds: ids })
  await ada.delete(`/labels/${ids[2]}`)
  const to = await make(ada, '/projects', { name: 'To' })
  const bug = await create('bUG', to.id)
  const moved = await patch({ projectId: to.id })
  expect(await labelled(to.id)).toEqual([
    ['bUG', null],
    ['New', '#00ff00'],
  ])
  expect(idsIn(moved)).toEqual([bug, (await ada.get(labelsIn(to.id))).body[1]!.id])
  const read = await ada.get(`/tasks/${scene.task.id}`)
  expect([read.text, read.headers.get('etag')]).toEqual([moved.text, moved.headers.get('etag')])
  const events = await readFeed(ada, `/projects/${to.id}/events?after=2`)
  expect(events.map(({ type }) => type)).toEqual(['label.created', 'task.moved_in'])
  expect(await faultsOf(scene.sql)).toEqual([])
})

test('a move may set or change the labels, with ids of the other project', async () => {
  const [a, b] = [await create('a'), await create('b')]
  await patch({ labelIds: [a, b] })
  const to = await make(ada, '/projects', { name: 'To' })
  const c = await create('c', to.id)
  expectError(await patch({ projectId: to.id, addLabelIds: [a] }), 400)
  const added = idsIn(await patch({ projectId: to.id, addLabelIds: [c] }))
  expect([added.at(-1), await labelled(to.id)]).toEqual([
    c,
    [
      ['c', null],
      ['a', null],
      ['b', null],
    ],
  ])
  expect(idsIn(await patch({ projectId: scene.project.id, labelIds: [b] }))).toEqual([b])
  expect(await labelled(scene.project.id)).toEqual([
    ['a', null],
    ['b', null],
  ])
})

test('restoring or moving a label beyond the limit of 500 gets 409', async () => {
  const names = upTo(500).map((n) => ({ op: 'label.create', name: `L${n}` }))
  expect((await batch(names)).status).toBe(200)
  const most = 'A project has at most 500 labels'
  const [first] = (await ada.get(labelsIn())).body
  await ada.delete(`/labels/${first!.id}`)
  await create('More')
  expectError(await undo({ seq: 503 }), 409, most)
  const { id: projectId } = await make(ada, '/projects', { name: 'From' })
  const labelIds = [await create('l7', projectId), await create('New', projectId)]
  const other = await make(ada, '/tasks', { title: 'T', projectId, labelIds })
  expectError(await patch({ projectId: scene.project.id }, other.id), 409, most)
  const moved = await patch({ projectId: scene.project.id, labelIds: [] }, other.id)
  expect([moved.status, idsIn(moved)]).toEqual([200, []])
})
