import { allPages, expectError, invite, make, malformedIds, newId, register, unknownId } from '../../kit.ts'
import { upTo, withToken } from '../../kit.ts'
import { importsOf } from '../../../modules/imports/rows.ts'
import { openImportScene, start } from './scene.ts'

const scene = await openImportScene()
const { client, sql, people, newProject } = scene

test('hides imports whose file has not arrived, and imports that are being removed', async () => {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  for (const state of ['receiving', 'removing']) {
    await scene.set(body.id, { state })
    expect((await owner.get(`/projects/${projectId}/imports`)).text).toBe('[]')
    for (const path of ['', '/report'])
      expectError(await owner.get(`/imports/${body.id}${path}`), 404, 'Import not found')
    expectError(await owner.delete(`/imports/${body.id}`), 404)
    expectError(await owner.post(`/imports/${body.id}/undo`), 404)
  }
})

test('shows the state, the counts, the error and the undo, with an ETag that changes with them', async () => {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  const path = `/imports/${body.id}`
  const first = await owner.get(path)
  const etag = first.headers.get('etag')!
  expect((await owner.get(path, { 'if-none-match': etag })).status).toBe(304)
  const counts = { read: 9, created: 4, updated: 3, unchanged: 1, rejected: 1 }
  await scene.set(body.id, {
    state: 'failed',
    progress: 0.3,
    ...counts,
    error: 'Cut off (line 9)',
    undo_state: 'running',
    undone: 7,
    kept: 2,
  })
  const now = await owner.get(path, { 'if-none-match': etag })
  expect(now.body).toMatchObject({
    state: 'failed',
    progress: 0.3,
    error: 'Cut off (line 9)',
    counts,
  } as never)
  expect(now.body).toMatchObject({ undo: { state: 'running', undone: 7, kept: 2 } } as never)
})

test('pages the lines of the report in their order', async () => {
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId)
  const lines = upTo(5).map((n) => ({
    ...{ import_id: body.id, n, row: n === 1 ? null : n, external_id: n === 2 ? 'csv:2' : null },
    ...{ outcome: 'updated', message: `Line ${n}` },
  }))
  await sql`insert into import_lines ${sql(lines)}`
  const path = `/imports/${body.id}/report`
  const pages = await allPages(owner, `${path}?limit=2`)
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
  expect(pages.flat().slice(0, 2)).toEqual([
    { row: null, externalId: null, outcome: 'updated', message: 'Line 1' },
    { row: 2, externalId: 'csv:2', outcome: 'updated', message: 'Line 2' },
  ] as never)
  const cursor = (text: string) => Buffer.from(text).toString('base64url')
  for (const wrong of ['x', cursor('["a"]'), cursor('["-1"]'), cursor('[1]')])
    expectError(await owner.get(`${path}?cursor=${wrong}`), 400, /^cursor must be/)
  expect((await owner.get(`${path}?cursor=${cursor('["999999999999999"]')}`)).text).toBe('[]')
})

test('members read imports, EDITORs change them, and other callers get 404', async () => {
  const projectId = await scene.newTeamProject()
  const { admin, editor, owner, viewer, stranger } = people
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  const bound = await withToken(owner, { projects: [otherId] })
  const [reader, writer] = [
    await withToken(owner, { scopes: ['read'] }),
    await withToken(owner, { scopes: ['write'] }),
  ]
  expectError(await start(viewer, projectId), 403, 'This needs the role EDITOR in the project')
  expectError(await start(reader, projectId), 403, 'This needs an API token with the scope write')
  for (const outsider of [stranger, bound])
    expectError(await start(outsider, projectId), 404, 'Project not found')
  expectError(await start(client, projectId), 401)
  for (const starter of [admin, editor, owner, writer]) {
    const { status, body } = await start(starter, projectId)
    expect(status).toBe(202)
    const path = `/imports/${body.id}`
    const reads = [path, `${path}/report`, `/projects/${projectId}/imports`]
    for (const member of [viewer, reader, writer])
      for (const read of reads) expect([read, (await member.get(read)).status]).toEqual([read, 200])
    for (const outsider of [stranger, bound]) {
      for (const read of reads) expectError(await outsider.get(read), 404)
      expectError(await outsider.delete(path), 404, 'Import not found')
      expectError(await outsider.post(`${path}/undo`), 404, 'Import not found')
    }
    for (const weak of [viewer, reader]) {
      expectError(await weak.delete(path), 403)
      expectError(await weak.post(`${path}/undo`), 403)
    }
    expect((await writer.delete(path)).status).toBe(200)
  }
  for (const id of [unknownId, newId(), ...malformedIds]) expectError(await owner.get(`/imports/${id}`), 404)
})

test('a former member no longer sees the import', async () => {
  const { owner, projectId } = await newProject()
  const guest = await register(client)
  const { id: memberId } = await invite(owner, projectId, guest, 'EDITOR')
  const { body } = await start(guest, projectId)
  await owner.delete(`/projects/${projectId}/members/${memberId}`)
  expectError(await guest.get(`/imports/${body.id}`), 404)
  expectError(await guest.delete(`/imports/${body.id}`), 404)
})

/** A mapping of about 500 KB. Postgres compresses it to a few KB. */
const mapping = JSON.stringify({
  statuses: Object.fromEntries(upTo(1_000).map((n) => [`${n} `.padEnd(490, 'x'), null])),
})

test('lists the imports of a project newest first, in pages of a limit and of about 2 MiB of mappings', async () => {
  const { owner, projectId } = await newProject()
  const ids: string[] = []
  for (const _ of upTo(8)) {
    const { body } = await start(owner, projectId)
    await scene.end(body.id)
    ids.unshift(body.id)
  }
  const path = `/projects/${projectId}/imports`
  expect((await allPages(owner, `${path}?limit=5`)).map((page) => page.map(({ id }) => id))).toEqual([
    ids.slice(0, 5),
    ids.slice(5),
  ])
  await sql`update imports set mapping = ${mapping}::text::jsonb where project_id = ${projectId}`
  const rows = await importsOf(sql, projectId, { limit: 200, cursor: null })
  expect(rows.map(({ id }) => id)).toEqual(ids.slice(0, 5))
  const pages = await allPages(owner, path)
  expect(pages.map((page) => page.length)).toEqual([2, 2, 2, 2])
  expect(pages.flat().map(({ id }) => id)).toEqual(ids)
})
