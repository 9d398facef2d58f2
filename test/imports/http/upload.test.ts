import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { partsOf } from '../../../modules/imports/upload/file.ts'
import { anId, aTimestamp, eventually, expectError, isReplay, type Person, replayedParts } from '../../kit.ts'
import { csv, openImportScene, rowsOf, start, storedFile } from './scene.ts'

const scene = await openImportScene()
const { sql, newProject } = scene

test('stores the file in chunks, and answers 202 with the import and its Location', async () => {
  const { owner, projectId } = await newProject()
  const file = new Uint8Array(randomBytes(600_000))
  const mapping = { statuses: { Doing: 'IN_PROGRESS', Ideas: null }, timeZone: 'Europe/Berlin' }
  const query = `?source=trello&dryRun=true&mapping=${encodeURIComponent(JSON.stringify(mapping))}`
  const { status, body, headers } = await start(owner, projectId, file, query)
  expect([status, headers.get('location')]).toEqual([202, `/api/v1/imports/${body.id}`])
  expect(body).toStrictEqual({
    ...{ id: anId, projectId, source: 'trello', dryRun: true, state: 'queued', progress: 0 },
    counts: { read: 0, created: 0, updated: 0, unchanged: 0, rejected: 0 },
    ...{ error: null, mapping, undo: null, createdAt: aTimestamp, startedAt: null, finishedAt: null },
  } as never)
  expect((await owner.get(`/imports/${body.id}`)).body).toEqual(body)
  expect((await storedFile(sql, body.id)).equals(file)).toBe(true)
  const [row] = await sql`select caller from imports where id = ${body.id}`
  expect(row!.caller).toEqual({ userId: owner.id })
  const jobs = await sql`select name, project_id, data from outbox where data ->> 'importId' = ${body.id}`
  expect([...jobs]).toEqual([{ name: 'run-import', projectId, data: { importId: body.id } }])
})

test('accepts any Content-Type, and a file that is compressed with gzip', async () => {
  for (const type of ['application/json', 'text/plain; charset=utf-16', '']) {
    const { owner, projectId } = await newProject()
    const { status } = await start(owner, projectId, csv, '?source=csv', { 'content-type': type })
    expect([type, status]).toEqual([type, 202])
  }
  const zipped = new Uint8Array(gzipSync(csv))
  const { owner, projectId } = await newProject()
  const { body } = await start(owner, projectId, zipped, '?source=csv', { 'content-encoding': 'gzip' })
  expect((await storedFile(sql, body.id)).equals(zipped)).toBe(true)
})

test('rejects an empty file, a ZIP archive and wrong parameters with 400, and stores nothing', async () => {
  const { owner, projectId } = await newProject()
  const mapping = (value: unknown) =>
    `?source=csv&mapping=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`
  const zip = 'PK\x03\x04' + 'x'.repeat(300_000)
  const wrong: [query: string, message: string | RegExp, file?: string][] = [
    ['?source=csv', 'The file is empty', ''],
    ['?source=csv', /ZIP archive: unpack it/, zip],
    ['', /^source is required/],
    ['?source=excel', /^source must be one of csv, jira/],
    ['?source=csv&dryRun=yes', /^dryRun must be one of true, false/],
    ['?source=csv&dryrun=true', 'dryrun is not known here; did you mean dryRun?'],
    ['?source=csv&source=csv', 'source is given more than once'],
    [mapping('{'), 'mapping must be a JSON object'],
    [mapping('[]'), 'mapping must be a JSON object'],
    [mapping({ colums: {} }), 'mapping.colums is not known here; did you mean columns?'],
    [mapping({ statuses: { Doing: 'BUSY' } }), /^mapping.statuses.Doing must be one of TODO/],
    [
      mapping({ statuses: [] }),
      /^mapping.statuses must be an object of at most 2000 entries with the status for each list/,
    ],
    [
      mapping({ people: { Ada: 1 } }),
      'mapping.people.Ada must be an email address of at most 254 characters',
    ],
    [mapping({ people: { Ada: 'ada' } }), /^mapping.people.Ada must be an email address/],
    [mapping({ columns: { Name: 'titel' } }), /^mapping.columns.Name must be .*; did you mean title\?$/],
    [mapping({ columns: { Name: 'field.' } }), /^mapping.columns.Name must be null, field.<key>, or one of/],
    [
      mapping({ columns: { Name: 1 } }),
      /^mapping.columns.Name must be the name of a field of tasks, or null/,
    ],
    [mapping({ timeZone: 'Berlin' }), /^mapping.timeZone must be the IANA time zone of dates/],
    [
      mapping({ dateFormat: 'DD/MM' }),
      /^mapping.dateFormat must be the format of dates .* day, month and year/,
    ],
    [mapping({ dateFormat: 'dates' }), /^mapping.dateFormat must be the format of dates/],
    [
      mapping({ dateFormat: `yyyyMMdd${'So'.repeat(20)}X` }),
      /^mapping.dateFormat must be .* each letter in one place/,
    ],
    [mapping({ dateFormat: 'DD/MM/YYYY', timeZone: 5 }), /^mapping.timeZone must be/],
    [mapping({ people: { 'A\0': 'a@b.c' } }), /U\+0000/],
  ]
  for (const [query, message, file] of wrong)
    expectError(await start(owner, projectId, file ?? csv, query), 400, message)
  expect(await rowsOf(sql, projectId)).toBe(0)
  expect(
    (await sql`select from import_chunks c where not exists (select from imports where id = c.import_id)`)
      .length,
  ).toBe(0)
})

test('a retry with the same Idempotency-Key gets the first import', async () => {
  const { owner, projectId } = await newProject()
  const key = { 'idempotency-key': 'once' }
  const [first, retry] = [
    await start(owner, projectId, csv, '?source=csv', key),
    await start(owner, projectId, '', '?source=csv', key),
  ]
  expect(replayedParts(retry)).toEqual(replayedParts(first))
  expect([isReplay(first), isReplay(retry)]).toEqual([false, true])
  expect(retry.headers.get('location')).toBe(`/api/v1/imports/${first.body.id}`)
  expectError(await start(owner, projectId, csv, '?source=jira', key), 422)
  expect(await rowsOf(sql, projectId)).toBe(1)
})

/** Sends the first half of a file, calls `change`, and then sends the second half. */
async function startAround(owner: Person, projectId: string, change: () => Promise<unknown>) {
  let parts = 0
  const body = new ReadableStream({
    async pull(controller) {
      if (++parts === 2) {
        await eventually('a chunk', async () => (await sql`select from import_chunks`).length > 0)
        await change()
      }
      controller.enqueue(new Uint8Array(300_000).fill(120))
      if (parts === 2) controller.close()
    },
  })
  const headers = { authorization: `Bearer ${owner.token}` }
  const path = `/api/v1/projects/${projectId}/imports?source=csv`
  const answer = await scene.service.fetch(path, { method: 'POST', headers, body })
  return [answer.status, ((await answer.json()) as { message: string }).message]
}

test('rejects a file if another import began, or the project was deleted, while the file arrived', async () => {
  const { owner, projectId } = await newProject()
  await sql`delete from import_chunks`
  const begin = async () => expect((await start(owner, projectId)).status).toBe(202)
  expect(await startAround(owner, projectId, begin)).toEqual([
    409,
    expect.stringMatching(/^The import .* has not ended/),
  ])
  expect([await rowsOf(sql, projectId), (await sql`select from import_chunks`).length]).toEqual([1, 1])
  await sql`delete from imports where project_id = ${projectId}`
  await sql`delete from import_chunks`
  const remove = () => owner.delete(`/projects/${projectId}`)
  expect(await startAround(owner, projectId, remove)).toEqual([404, 'Project not found'])
  expect([await rowsOf(sql, projectId), (await sql`select from import_chunks`).length]).toEqual([0, 0])
})

test('a file must arrive within the time limit, and no part may be late', async () => {
  const body = () =>
    new ReadableStream({
      pull: async (controller) => (await Bun.sleep(5), controller.enqueue(new Uint8Array(1))),
    })
  const read = async (limitMs: number) => {
    for await (const part of partsOf(
      new Request('http://a', { method: 'POST', body: body() }),
      60_000,
      limitMs,
    ))
      expect(part).toHaveLength(1)
  }
  expect(read(50)).rejects.toMatchObject({ status: 408, message: 'The file must arrive within 10 minutes' })
})
