import { invite, make, openScene } from '../kit.ts'
import { connect } from './mcp-client.ts'

const { service, ada, bea } = await openScene(['Ada', 'Bea'])
const { call, pagesOf } = await connect(service, ada.token)
const engine = await make(ada, '/projects', { name: 'Engine', description: 'All of it' })
const member = await invite(ada, engine.id, bea, 'EDITOR')
const label = await make(ada, `/projects/${engine.id}/labels`, { name: 'Brass' })
const field = { key: 'size', name: 'Size', type: 'choice', options: ['S', 'L'] }
await make(ada, `/projects/${engine.id}/fields`, field)
const task = await make(bea, '/tasks', { projectId: engine.id, title: 'Draw', labelIds: [label.id] })
const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'Measure' })
const comment = await make(bea, `/tasks/${task.id}/comments`, { text: 'In brass' })

interface Pages {
  [list: string]: unknown
}

const listed = (pages: Pages[], list: string) => pages.flatMap((page) => (page[list] ?? []) as Pages[])

test('projects lists projects, and shows one with its members, labels and fields', async () => {
  const shown = { id: engine.id, name: 'Engine', owner: 'Ada', description: 'All of it' }
  expect((await call('projects')).body).toEqual({ projects: [shown] })
  expect((await call('projects', { project: 'engine' })).body).toEqual({
    ...shown,
    members: [{ name: 'Bea', email: bea.email, role: 'EDITOR' }],
    labels: [{ name: 'Brass' }],
    fields: [{ key: 'size', type: 'choice', options: ['S', 'L'] }],
  })
})

test('get shows a task with its subtasks, comments and history', async () => {
  const { body } = await call('get', { id: task.id })
  expect(body).toMatchObject({
    ...{ id: task.id, projectId: engine.id, title: 'Draw', labels: ['Brass'], version: 7 },
    etag: expect.stringMatching(/^"/),
    subtasks: [{ id: subtask.id, title: 'Measure', completed: false }],
    comments: [{ id: comment.id, by: 'Bea', text: 'In brass' }],
    history: [
      { seq: 7, type: 'comment.created', id: comment.id, by: 'Bea', batch: 7, row: { text: 'In brass' } },
      { seq: 6, type: 'subtask.created', by: 'Ada', row: { title: 'Measure' } },
      { seq: 5, type: 'task.created', id: task.id, by: 'Bea', row: { title: 'Draw', labels: ['Brass'] } },
    ],
  })
})

test('get shows all of a long description and of long comments, over several answers', async () => {
  const texts = [
    'The wheels need oil. '.repeat(950),
    '图纸"\n'.repeat(4_000),
    'xq'.repeat(10_000),
    '="'.repeat(5_000),
  ]
  const long = await make(ada, '/tasks', { projectId: engine.id, title: 'T', description: texts[0]!.trim() })
  for (const text of texts) await make(ada, `/tasks/${long.id}/comments`, { text: text.trim() })
  const pages = await pagesOf<Pages>('get', { id: long.id })
  expect(pages.map(({ description = '' }) => description).join('')).toBe(texts[0]!.trim())
  const byId = Map.groupBy(listed(pages, 'comments'), ({ id }) => id)
  const whole = [...byId.values()].map((parts) => parts.map(({ text }) => text).join(''))
  expect(whole).toEqual(texts.map((text) => text.trim()))
  expect(listed(pages, 'history').length).toBe(5)
})

test('history shows changes with their authors, and the batch to undo', async () => {
  const operations = [
    { op: 'task.update', id: task.id, status: 'DONE', assigneeId: bea.id },
    { op: 'subtask.toggle', id: subtask.id },
  ]
  const { version } = (await ada.post(`/projects/${engine.id}/batch`, { operations })).body as {
    version?: number
  }
  const batch = version! - 1
  const changed = { status: ['TODO', 'DONE'], assignee: [null, 'Bea'] }
  const { body } = await call<Pages>('history', { id: task.id })
  const expected = [
    { seq: version, type: 'subtask.toggled', by: 'Ada', batch, changed: { completed: [false, true] } },
    { seq: batch, type: 'task.updated', by: 'Ada', batch, changed },
  ]
  expect(body.project).toBe(engine.id)
  expect((body.history as Pages[]).slice(0, 2)).toMatchObject(expected)
  expect(
    (await call('history', { project: 'Engine', actor: bea.email, types: 'comment.created' })).body,
  ).toMatchObject({ history: [{ seq: 7, by: 'Bea' }] })
  expect((await call('undo', { project: 'Engine', batch, key: 'u' })).body).toMatchObject({ events: 2 })
})

test('history shows the events of a deleted task, and the project of events in other projects', async () => {
  const boat = await make(ada, '/projects', { name: 'Boat' })
  const moved = await make(ada, '/tasks', { projectId: engine.id, title: 'Moved' })
  await ada.patch(`/tasks/${moved.id}`, { projectId: boat.id })
  const { body } = await call<Pages>('history', { id: moved.id })
  const types = (pages: Pages[]) => listed(pages, 'history').map(({ type, project }) => [type, project])
  expect(body.project).toBe(boat.id)
  expect(types([body])).toEqual([
    ['task.moved_in', undefined],
    ['task.moved_out', engine.id],
    ['task.created', engine.id],
  ])
  await ada.delete(`/tasks/${moved.id}`)
  const inBoat = await pagesOf<Pages>('history', { id: moved.id, project: 'Boat' })
  expect(types(inBoat)).toEqual([
    ['task.deleted', undefined],
    ['task.moved_in', undefined],
  ])
})

test('pages of history contain every event once, newest first', async () => {
  const { id } = await make(ada, '/projects', { name: 'Log' })
  const operations = Array.from({ length: 400 }, (_, n) => ({ op: 'task.create', title: `图纸 ${n}` }))
  await ada.post(`/projects/${id}/batch`, { operations })
  const seqs = listed(await pagesOf<Pages>('history', { project: id }), 'history').map(({ seq }) => seq)
  expect(seqs).toEqual(Array.from({ length: 401 }, (_, n) => 401 - n))
})

test('changes lists each event once, and waits for the next event', async () => {
  const { id } = await make(ada, '/projects', { name: 'Feed' })
  const operations = Array.from({ length: 300 }, (_, n) => ({ op: 'task.create', title: `Task ${n}` }))
  await ada.post(`/projects/${id}/batch`, { operations })
  const pages = await pagesOf<Pages>('changes', { project: 'Feed', after: 1 })
  const seqs = listed(pages, 'changes').map(({ seq }) => seq)
  expect(seqs).toEqual(Array.from({ length: 300 }, (_, n) => n + 2))
  const { after } = pages.at(-1)!
  expect(after).toBe(301)
  const waiting = call('changes', { project: id, after, wait: 25 })
  await make(ada, '/tasks', { projectId: id, title: 'New' })
  const { body } = await waiting
  expect(body).toMatchObject({
    changes: [{ seq: 302, type: 'task.created', row: { title: 'New' } }],
    after: 302,
  })
  const filtered = await call('changes', { project: id, after: 301, types: 'task.deleted' })
  expect(filtered.body).toEqual({ changes: [], after: 302 })
  await invite(ada, id, bea, 'EDITOR')
  await make(bea, '/tasks', { projectId: id, title: 'Hers' })
  const others = await call('changes', { project: id, after: 0, exceptActor: 'me' })
  expect(others.body).toMatchObject({ changes: [{ seq: 304, by: 'Bea' }], after: 304 })
  const own = await call('changes', { project: id, after: 302, exceptActor: 'Bea' })
  expect(own.body).toMatchObject({ changes: [{ seq: 303, by: 'Ada' }], after: 304 })
})

test('errors contain advice for the next step', async () => {
  for (const [name, args, error] of [
    ['get', { id: member.id }, { status: 404, error: 'Task not found' }],
    ...['.', '..', `${task.id}/../..`, '%2e', `${task.id}?limit=1`].flatMap((id) =>
      ['get', 'history', 'extend_or_release'].map(
        (tool) => [tool, { id }, { status: 404, error: 'Task not found' }] as const,
      ),
    ),
    ['get', { id: '' }, { status: 400, error: 'id must be the id of a task' }],
    ['find', { labels: ['Brass'] }, { status: 400, do: 'Pass project too, or ids in place of names' }],
    [
      'find',
      { project: engine.id, where: { size: {} } },
      { error: 'where.size must be a text, a number, true or false' },
    ],
    ['get', { id: task.id, next: 'x' }, { status: 400, error: 'next must be from the previous answer' }],
    ['find', { project: 'Engin' }, { status: 404, error: expect.stringContaining('did you mean Engine?') }],
    ['find', { project: engine.id, next: 'x' }, { status: 400 }],
    ['history', {}, { status: 400, error: 'project or id is required' }],
    ['history', { id: task.id, actor: 'me' }, { status: 400 }],
    ['changes', { project: engine.id, after: 999 }, { status: 400 }],
    [
      'changes',
      { project: engine.id, wait: 26 },
      { status: 400, error: 'wait must be a whole number from 0 to 25' },
    ],
    [
      'history',
      { project: engine.id, types: 'task.done' },
      { status: 400, error: 'types must be a text of event types, such as task.created,task.deleted' },
    ],
    [
      'changes',
      { project: engine.id, after: -1 },
      {
        error: 'after must be a whole number, `after` of the previous answer, or `version` of find',
      },
    ],
    ['find', { labels: 'Brass' }, { status: 400, error: 'labels must be a list of names or ids' }],
  ] as const) {
    const { isError, body } = await call(name, args)
    expect([name, isError, body]).toMatchObject([name, true, { ...error, do: expect.any(String) }])
  }
})
