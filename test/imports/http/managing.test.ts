import { firstIdAt } from '../../../src/ids.ts'
import {
  allPages,
  eventually,
  expectError,
  expireImports,
  invite,
  isReplay,
  make,
  malformedIds,
} from '../../kit.ts'
import { newId, openProject, type Person, purgeProject, register, registerTeam } from '../../kit.ts'
import { statuses, unknownId, upTo, withToken } from '../../kit.ts'
import { rowsWith } from '../../workers/remains.ts'
import { openImportScene, start } from '../scene.ts'

const { client, sql, newProject, set, end } = await openImportScene()

async function startOne() {
  const { owner, projectId } = await newProject()
  const { id } = (await start(owner, projectId)).body
  return { owner, projectId, id, path: `/imports/${id}` }
}

async function endedOne(values: Record<string, unknown> = {}) {
  const one = await startOne()
  await end(one.id, values)
  return { ...one, undo: (headers = {}) => one.owner.post(`${one.path}/undo`, undefined, headers) }
}

/** Ends the undo of an import, as a worker does. */
const endUndo = ({ id }: { id: string }, undo_state = 'done', kept = 1) =>
  eventually('the undo', async () => {
    const values = { undo_state, undone: 3, kept }
    return (await sql`update imports set ${sql(values)} where id = ${id} and undo_state = 'queued'`).count > 0
  })

const makeMany = async (owner: Person, count: number) =>
  Promise.all(upTo(count).map(async () => (await make(owner, '/projects', { name: 'P' })).id))
const tooMany = /^An account can have 4 active imports and undos of imports: wait/

// The response waits for 10 seconds, while the other tests run.
const unended = await endedOne()
const longUndo = unended.undo()

test('hides imports that are being removed', async () => {
  const { owner, projectId, id, path } = await startOne()
  await set(id, { state: 'removing' })
  expect((await owner.get(`/projects/${projectId}/imports`)).text).toBe('[]')
  const { get, delete: remove, post } = owner
  for (const answer of [get(path), get(`${path}/report`), remove(path), post(`${path}/undo`)])
    expectError(await answer, 404, 'Import not found')
})

test('shows the state, the counts, the error and the undo, with an ETag that changes with them', async () => {
  const { owner, id, path } = await startOne()
  const etag = (await owner.get(path)).headers.get('etag')!
  expect((await owner.get(path, { 'if-none-match': etag })).status).toBe(304)
  const counts = { read: 9, created: 4, updated: 3, unchanged: 1, rejected: 1 }
  const values = { state: 'failed', error: 'Cut off (line 9)' }
  await set(id, { ...values, ...counts, undo_state: 'running', undone: 7, kept: 2 })
  const { body } = await owner.get(path, { 'if-none-match': etag })
  expect(body).toMatchObject({
    ...values,
    progress: 0.8,
    counts,
    undo: { state: 'running', undone: 7, kept: 2 },
  } as never)
})

test('pages the lines of the report in their order', async () => {
  const { owner, id, path } = await startOne()
  const lines = upTo(5).map((n) => ({
    ...{ import_id: id, n, row: n === 1 ? null : n, external_id: n === 2 ? 'csv:2' : null },
    ...{ outcome: 'updated', message: `Line ${n}` },
  }))
  await sql`insert into import_lines ${sql(lines)}`
  const pages = await allPages(owner, `${path}/report?limit=2`)
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
  expect(pages.flat().slice(0, 2)).toEqual([
    { row: null, externalId: null, outcome: 'updated', message: 'Line 1' },
    { row: 2, externalId: 'csv:2', outcome: 'updated', message: 'Line 2' },
  ] as never)
  const cursor = (text: string) => Buffer.from(text).toString('base64url')
  for (const wrong of ['x', cursor('["a"]'), cursor('["-1"]'), cursor('[1]')])
    expectError(await owner.get(`${path}/report?cursor=${wrong}`), 400, /^cursor must be/)
  expect((await owner.get(`${path}/report?cursor=${cursor('["999999999999999"]')}`)).text).toBe('[]')
})

test('VIEWERs read imports, EDITORs change them, and other callers and former members get 404', async () => {
  const people = await registerTeam(client)
  const projectId = await openProject(people)
  const { editor, owner, viewer, stranger } = people
  const { id: otherId } = await make(owner, '/projects', { name: 'Other' })
  const bound = await withToken(owner, { projects: [otherId] })
  expectError(await start(client, projectId), 401)
  expectError(await start(viewer, projectId), 403, 'This needs the role EDITOR in the project')
  const path = `/imports/${(await start(editor, projectId)).body.id}`
  const reads = [path, `${path}/report`, `/projects/${projectId}/imports`]
  const changes = (one: Person) => [one.delete(path), one.post(`${path}/undo`)]
  for (const read of reads) expect([read, (await viewer.get(read)).status]).toEqual([read, 200])
  for (const answer of changes(viewer)) expectError(await answer, 403)
  const members = (await owner.get(`/projects/${projectId}/members`)).body
  const { id: memberId } = members.find(({ userId }) => userId === editor.id)!
  await owner.delete(`/projects/${projectId}/members/${memberId}`)
  for (const outsider of [stranger, bound, editor]) {
    expectError(await start(outsider, projectId), 404, 'Project not found')
    for (const read of reads) expectError(await outsider.get(read), 404)
    for (const answer of changes(outsider)) expectError(await answer, 404, 'Import not found')
  }
  for (const id of [unknownId, newId(), ...malformedIds]) expectError(await owner.get(`/imports/${id}`), 404)
})

test('lists the imports of a project newest first, in pages of a limit and of about 2 MiB of mappings', async () => {
  const { owner, projectId } = await newProject()
  const ids: string[] = []
  for (const _ of upTo(8)) {
    const { body } = await start(owner, projectId)
    await end(body.id)
    ids.unshift(body.id)
  }
  const path = `/projects/${projectId}/imports`
  const pagesOf = async (query = '') =>
    (await allPages(owner, `${path}${query}`)).map((page) => page.map(({ id }) => id))
  expect(await pagesOf('?limit=5')).toEqual([ids.slice(0, 5), ids.slice(5)])
  // A mapping of about 500 KB, which Postgres compresses to a few KB.
  const statuses = Object.fromEntries(upTo(1_000).map((n) => [`${n} `.padEnd(490, 'x'), null]))
  const mapping = JSON.stringify({ statuses })
  await sql`update imports set mapping = ${mapping}::text::jsonb where project_id = ${projectId}`
  expect(await pagesOf()).toEqual([0, 2, 4, 6].map((n) => ids.slice(n, n + 2)))
})

test('cancels an active import once, with a retry of the same Idempotency-Key, and rejects the end of an ended import', async () => {
  const key = { 'idempotency-key': 'k' }
  for (const state of ['queued', 'running']) {
    const { owner, projectId, id, path } = await startOne()
    await set(id, { state })
    const answers = [await owner.delete(path, key), await owner.delete(path, key)]
    expect(answers[0]!.body).toEqual({ message: 'Import cancelled successfully' } as never)
    expect(answers.map((one) => [one.status, isReplay(one)])).toEqual([
      [200, false],
      [200, true],
    ])
    const cancelled = { state: 'cancelled', progress: 0, finishedAt: expect.any(String) }
    expect((await owner.get(path)).body).toMatchObject(cancelled as never)
    expect((await start(owner, projectId)).status).toBe(202)
  }
  for (const state of ['done', 'failed', 'cancelled']) {
    const { owner, path } = await endedOne({ state })
    expectError(await owner.delete(path), 409, 'The import has already ended')
    expect((await owner.get(path)).body).toMatchObject({ state } as never)
  }
})

test('an undo queues a job, and gets 200 if the undo ends within 10 seconds', async () => {
  const key = { 'idempotency-key': 'k' }
  for (const state of ['done', 'failed', 'cancelled']) {
    const one = await endedOne({ state })
    const [answer] = await Promise.all([one.undo(key), endUndo(one)])
    const undo = { state: 'done', undone: 3, kept: 1 }
    expect([answer.status, answer.body]).toMatchObject([200, { state, undo }])
    const [job] =
      await sql`select project_id, data from outbox where name = 'undo-import' and data ->> 'importId' = ${one.id}`
    const caller = JSON.stringify({ userId: one.owner.id })
    expect(job).toEqual({ projectId: one.projectId, data: { importId: one.id, caller } } as never)
    // A retry gets the stored response.
    const retry = await one.undo(key)
    expect([retry.status, isReplay(retry)]).toEqual([202, true])
  }
})

test('an import is undone once if nothing is kept, and again if the undo has failed or has kept a task, a label or a field', async () => {
  const one = await endedOne()
  const undos = Promise.all([one.undo(), one.undo(), one.undo()])
  await endUndo(one, 'done', 0)
  expect(statuses(await undos)).toEqual({ 200: 1, 409: 2 })
  expectError(await one.undo(), 409, 'The import is already undone')
  const failed = await endedOne({ undo_state: 'failed' })
  const kept = [1, 0].map((kept) => endedOne({ undo_state: 'done', kept }))
  for (const { id } of await Promise.all(kept))
    await sql`insert into import_lines (import_id, n, outcome, message) values (${id}, 1, 'kept', 'Tasks have it')`
  for (const again of [failed, ...(await Promise.all(kept))]) {
    const [answer] = await Promise.all([again.undo(), endUndo(again)])
    expect(answer.status).toBe(200)
  }
})

test('rejects the undo of an active import, of a dry run, and of an import while another import is active', async () => {
  const active = await startOne()
  const undo = await active.owner.post(`${active.path}/undo`)
  expectError(undo, 409, 'The import has not ended: cancel it first')
  const dry = await endedOne({ dry_run: true })
  expectError(await dry.undo(), 409, 'The import was a dry run: it changed nothing')
  const first = await endedOne()
  const { body: second } = await start(first.owner, first.projectId)
  expectError(await first.undo(), 409, new RegExp(`^The import ${second.id} has not ended`))
})

test('an account has at most four active imports: the fifth gets 429', async () => {
  const owner = await register(client)
  const [last, ...others] = await makeMany(owner, 5)
  for (const id of others) expect((await start(owner, id)).status).toBe(202)
  const answer = await start(owner, last!)
  expectError(answer, 429, tooMany)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  const { body } = await owner.get(`/projects/${others[0]}/imports`)
  await end(body[0]!.id)
  expect((await start(owner, last!)).status).toBe(202)
})

test('an undo counts as an active import of the account that requests it, not of the account that imported the file', async () => {
  const [owner, admin] = [await register(client), await register(client)]
  const ids: string[] = []
  for (const id of await makeMany(owner, 5)) {
    await invite(owner, id, admin, 'ADMIN')
    ids.push((await start(owner, id)).body.id)
    await end(ids.at(-1)!)
  }
  const [last, ...others] = ids
  const undos = others.map((id) => admin.post(`/imports/${id}/undo`))
  await eventually('the queued undos', async () => {
    const queued = await sql`select from imports where id in ${sql(others)} and undo_state = 'queued'`
    return queued.length === others.length
  })
  const answer = await admin.post(`/imports/${last}/undo`)
  expectError(answer, 429, tooMany)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  const { body } = await owner.get(`/imports/${last}`)
  expect(body).toMatchObject({ undo: null } as never)
  expect((await start(owner, body.projectId)).status).toBe(202)
  for (const id of others) await set(id, { undo_state: 'done' })
  expect(statuses(await Promise.all(undos))).toEqual({ 200: 4 })
})

const throttle = { batchRows: 7, pauseMs: 0 }
const tables = ['import_batches', 'import_chunks', 'import_items', 'import_lines', 'imports']
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
const tablesWith = async (id: string) => {
  const names = Object.keys(await rowsWith(sql, [id]))
  return names.filter((name) => name.startsWith('import')).sort()
}

/** Starts an import with rows in every table. */
async function startFull() {
  const one = await startOne()
  await sql`insert into import_items (import_id, kind, n, "row", key, id, item)
    select ${one.id}, 'task', n, n, n::text, gen_random_uuid(), '{}' from generate_series(1, 30) n`
  await sql`insert into import_lines (import_id, n, outcome, message) select ${one.id}, n, 'updated', 'M' from generate_series(1, 30) n`
  await sql`insert into import_batches (import_id, seq) select ${one.id}, n from generate_series(1, 30) n`
  return { ...one, remaining: () => tablesWith(one.id) }
}

test('removes a file without an import after an hour', async () => {
  const [young, old] = [59, 61].map((minutes) => firstIdAt(Date.now() - minutes * 60_000)) as [string, string]
  for (const id of [young, old])
    await sql`insert into import_chunks (import_id, n, bytes) select ${id}, n, ''::bytea from generate_series(0, 30) n`
  const { remaining } = await startFull()
  await expireImports(sql, throttle)
  expect([await remaining(), await tablesWith(young), await tablesWith(old)]).toEqual([
    tables,
    ['import_chunks'],
    [],
  ])
})

test('removes an import 30 days after its end, unless it is being undone', async () => {
  const active = await startFull()
  await set(active.id, { state: 'running', created_at: minutesAgo(99_999) })
  const { id, owner, path, remaining } = await startFull()
  await end(id, { finished_at: minutesAgo(29 * 1_440) })
  await expireImports(sql, throttle)
  expect(await remaining()).toEqual(tables)
  await set(id, { finished_at: minutesAgo(31 * 1_440), undo_state: 'running' })
  await expireImports(sql, throttle)
  expect((await owner.get(path)).status).toBe(200)
  await set(id, { undo_state: 'done' })
  await expireImports(sql, throttle)
  expect(await remaining()).toEqual([])
  expect(await active.remaining()).toEqual(tables)
})

test('purging a project removes its imports, and no import of another project', async () => {
  const [one, other] = [await startFull(), await startFull()]
  await one.owner.delete(`/projects/${one.projectId}`)
  await purgeProject(sql, one.projectId, throttle)
  expect([await one.remaining(), await other.remaining()]).toEqual([[], tables])
})

test('an undo that takes longer gets 202, and blocks other imports of the project', async () => {
  const answer = await longUndo
  expect([answer.status, answer.headers.get('location')]).toEqual([202, `/api/v1${unended.path}`])
  expect(answer.body).toMatchObject({ undo: { state: 'queued', undone: 0, kept: 0 } } as never)
  const isActive = new RegExp(`^The undo of the import ${unended.id} has not`)
  expectError(await start(unended.owner, unended.projectId), 409, isActive)
})
