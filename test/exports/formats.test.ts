import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { gunzipSync } from 'node:zlib'
import { unpackTar } from 'modern-tar'
import { cases, type Client, eventually, invite, make, makeToken, openScene } from '../kit.ts'
import { expectTransactions, exported, linesOf, withoutTime } from './scene.ts'

const { service, client, sql, ada, bea } = await openScene(['Ada', 'Bea'])
const { id: projectId } = await make(ada, '/projects', { name: 'Café: the Engine' })
await invite(ada, projectId, bea, 'EDITOR')
const bug = await make(ada, `/projects/${projectId}/labels`, { name: '=bug, "new"' })
await make(ada, `/projects/${projectId}/fields`, { key: 'size', name: 'Size', type: 'number' })
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
  const without = ({ ...row }: object, ...names: string[]) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)))
  const task = without((await ada.get(`/tasks/${draw.id}`)).body, 'importedAuthor')
  const assignee = { ...author, email: bea.email }
  expect(lines[4]).toEqual({ kind: 'task', ...task, labels: ['=bug, "new"'], assignee, author })
  const [comment] = (await ada.get(`/tasks/${draw.id}/comments`)).body
  const shown = without(comment!, 'authorId', 'authorRemoved', 'importedAuthor')
  expect(lines[6]).toEqual({ kind: 'comment', ...shown, author })
  expect(lines[7]).toMatchObject({ externalId: `docket:${oil.id}`, author: { id: ada.id, name: 'Ada' } })
  expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length })
})

test('the author of a task that was created in another project is unknown', async () => {
  const [from, to] = [
    await make(ada, '/projects', { name: 'From' }),
    await make(ada, '/projects', { name: 'To' }),
  ]
  const { id } = await make(ada, '/tasks', { projectId: from.id, title: 'Moved' })
  await ada.patch(`/tasks/${id}`, { projectId: to.id })
  const [, task] = linesOf(await exported(ada, to.id))
  expect(task).toMatchObject({ kind: 'task', id, author: { name: 'Unknown' } })
  for (const one of [from, to]) await ada.delete(`/projects/${one.id}`)
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
  for (const parameters of ['history=true&format=csv', 'format=xlsx', 'asOf=1000'])
    expect([parameters, await statusOf(parameters)]).toEqual([parameters, 400])
  expect(await statusOf('asOf=2001-01-01')).toBe(404)
  const [member] = (await ada.get(`/projects/${projectId}/members`)).body
  await ada.delete(`/projects/${projectId}/members/${member!.id}`)
  expect(await statusOf('', bea)).toBe(404)
  // The rejected requests are no longer in progress.
  expect(await statusOf('format=csv')).toBe(200)
})

const requestOf = (caller: Client) =>
  service.fetch('/api/v1/export', { headers: { authorization: `Bearer ${caller.token}` } })

async function filesOf(caller: Client): Promise<Map<string, string>> {
  const response = await requestOf(caller)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/gzip'])
  const entries = await unpackTar(gunzipSync(await response.arrayBuffer()))
  return new Map(entries.map(({ header, data }) => [header.name, Buffer.from(data!).toString()]))
}

const spooledFiles = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('docket-export-'))
/** Other test files share the folder. */
const untilNoFiles = () =>
  eventually('the removal of the files', async () => (await spooledFiles()).length === 0)

test('returns the account, its tokens without secrets, and a file for each project that the caller may see', async () => {
  const shared = await make(bea, '/projects', { name: 'Mill' })
  await invite(bea, shared.id, ada)
  await make(bea, '/projects', { name: 'Hidden' })
  const token = await makeToken(ada)
  const files = await filesOf(ada)
  const account = JSON.parse(files.get('account.json')!)
  expect(account).toEqual({
    account: (await ada.get('/auth/me')).body,
    tokens: (await ada.get('/tokens')).body,
  })
  expect(files.get('account.json')).not.toContain(token.token)
  const names = [`cafe-the-engine-${projectId}.docket.ndjson`, `mill-${shared.id}.docket.ndjson`]
  expect([...files.keys()]).toEqual(['account.json', ...names])
  for (const [n, id] of [projectId, shared.id].entries())
    expect(withoutTime(files.get(names[n]!)!)).toBe(withoutTime(await exported(ada, id)))
  await untilNoFiles()
  // With a token, the export has only the projects of the token, and no tokens.
  const bound = await makeToken(ada, { projects: [projectId], scopes: ['read'] })
  const seen = await filesOf(client.as(bound.token))
  expect([...seen.keys()]).toEqual(['account.json', names[0]!])
  expect(JSON.parse(seen.get('account.json')!).tokens).toBeNull()
})

test('works for an account with many projects', async () => {
  const count = cases(100)
  const { id } = await make(ada, '/projects', { name: 'First' })
  await sql`insert into projects (id, owner_id, name, created_at, event_id)
    select uuidv7(), owner_id, 'Project ' || n, created_at, uuidv7()
    from projects, generate_series(1, ${count}::int) n where id = ${id}`
  await sql`insert into streams (project_id, version, last_number)
    select id, 1, 0 from projects where name like 'Project %'`
  const files = await filesOf(ada)
  expect(files.size).toBeGreaterThan(count)
  for (const [name, text] of files)
    if (name.startsWith('project-')) expect(linesOf(text).at(-1)).toEqual({ kind: 'end', lines: 2 })
}, 60_000)

test('a disconnect leaves no file and no transaction', async () => {
  const reader = (await requestOf(ada)).body!.getReader()
  await reader.read()
  await reader.cancel()
  await untilNoFiles()
  await expectTransactions(sql, 0)
  expect((await requestOf(ada)).status).toBe(200)
})
