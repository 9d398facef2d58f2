import { type Body, invite, make, openScene } from '../kit.ts'
import { exported, linesOf } from './scene.ts'

const { ada, bea } = await openScene(['Ada', 'Bea'])
const { id: projectId } = await make(ada, '/projects', { name: 'Café: the Engine' })
await invite(ada, projectId, bea, 'EDITOR')
const bug = await make(ada, `/projects/${projectId}/labels`, { name: '=bug, "new"' })
type Line = Record<'importedAuthor', unknown>
const size = { key: 'size', name: 'Size', type: 'number' }
await make(ada, `/projects/${projectId}/fields`, size)
const oil = await make(ada, '/tasks', {
  projectId,
  title: '=Oil',
  description: 'Black\rred',
  fields: { size: -5 },
})
const draw = await make(bea, '/tasks', {
  projectId,
  title: 'Draw',
  description: 'In ink,\nwith "all" wheels',
  assigneeId: bea.id,
  labelIds: [bug.id],
  blockedByIds: [oil.id],
  before: oil.id,
  externalId: '@7',
})
const step = await make(ada, `/tasks/${draw.id}/subtasks`, { title: 'Sharpen' })
const remark = await make(bea, `/tasks/${draw.id}/comments`, { text: 'One "line"\n\nand another' })

test('a docket file has the project, then its rows in the order of the project, and a count at the end', async () => {
  const lines = linesOf(await exported(ada, projectId))
  const project = (await ada.get(`/projects/${projectId}`)).body
  const author = { id: bea.id, name: 'Bea' }
  expect(lines[0]).toEqual({
    docket: 1,
    project,
    version: expect.any(Number),
    exportedAt: expect.any(String),
  })
  const kinds = lines.map(({ kind }) => kind)
  expect(kinds.slice(1)).toEqual(['member', 'label', 'field', 'task', 'subtask', 'comment', 'task', 'end'])
  const shownTask = async ({ id }: Body) => {
    const { importedAuthor: _, ...shown } = (await ada.get(`/tasks/${id}`)).body as Body & Line
    return shown
  }
  const assignee = { ...author, email: bea.email }
  const labels = ['=bug, "new"']
  expect(lines[4]).toEqual({ kind: 'task', ...(await shownTask(draw)), labels, assignee, author })
  const [comment] = (await ada.get(`/tasks/${draw.id}/comments`)).body
  const { authorId: _, authorRemoved: __, importedAuthor: ___, ...rest } = comment as Body & Line
  expect(lines[6]).toEqual({ kind: 'comment', ...rest, author })
  expect(lines[7]).toMatchObject({ externalId: `docket:${oil.id}`, author: { id: ada.id, name: 'Ada' } })
  expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length })
})

test('a docket file with the history has all events, oldest first', async () => {
  const lines = linesOf(await exported(ada, projectId, 'history=true'))
  const events = lines.filter(({ kind }) => kind === 'event').map(({ kind: _, ...event }) => event)
  const { body } = await ada.get(`/projects/${projectId}/history?limit=200`)
  expect(events).toEqual([...body].reverse() as never[])
  expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length })
})

test('an ndjson file has the tasks as the API shows them, with their subtasks and comments', async () => {
  const lines = linesOf(await exported(ada, projectId, 'format=ndjson'))
  const whole = async (id: string) => ({
    ...(await ada.get(`/tasks/${id}`)).body,
    subtasks: (await ada.get(`/tasks/${id}/subtasks`)).body,
    comments: (await ada.get(`/tasks/${id}/comments`)).body,
  })
  expect(lines).toEqual([await whole(draw.id), await whole(oil.id)] as never[])
  expect(lines[0]).toMatchObject({ subtasks: [{ id: step.id }], comments: [{ id: remark.id }] })
})

test('a csv file has a byte order mark, columns for fields, quoted cells and no formulas', async () => {
  const bytes = await ada.get(`/projects/${projectId}/export?format=csv`)
  expect(bytes.headers.get('content-disposition')).toMatch(
    /^attachment; filename="cafe-the-engine-\d+\.csv"$/,
  )
  const { createdAt } = (await ada.get(`/tasks/${draw.id}`)).body
  const person = `Bea <${bea.email}>`
  const comment = `${remark.createdAt} ${person}\n  One ""line""\n  \n  and another`
  expect(bytes.text.replace('\ufeff', '').split('\r\n')).toEqual([
    'id,number,title,description,status,priority,dueDate,remindAt,assignee,labels,externalId,blockedBy,createdAt,updatedAt,author,importedAuthor,subtasks,comments,field.size',
    `${draw.id},2,Draw,"In ink,\nwith ""all"" wheels",TODO,MEDIUM,,,${person},"'=bug, ""new""",'@7,${oil.id},${createdAt},${createdAt},${person},,"[ ] Sharpen","${comment}",`,
    `${oil.id},1,'=Oil,"Black\rred",TODO,MEDIUM,,,,,,,${oil.createdAt},${oil.updatedAt},Ada <${ada.email}>,,"","",-5`,
    '',
  ])
})

test('rejects history without the docket format, unknown formats and versions, and projects of others', async () => {
  const statusOf = async (parameters: string, client = ada) =>
    (await client.get(`/projects/${projectId}/export?${parameters}`)).status
  expect(await statusOf('history=true&format=csv')).toBe(400)
  expect(await statusOf('format=xlsx')).toBe(400)
  expect(await statusOf('asOf=1000')).toBe(400)
  expect(await statusOf('asOf=2001-01-01')).toBe(404)
  await ada.delete(
    `/projects/${projectId}/members/${(await ada.get(`/projects/${projectId}/members`)).body[0]!.id}`,
  )
  expect(await statusOf('', bea)).toBe(404)
  // The rejected requests are no longer in progress.
  expect(await statusOf('format=csv')).toBe(200)
})
