import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { partsOf } from '../../../modules/imports/upload.ts'
import { endImports } from '../../http/own-import.ts'
import {
  anId,
  aTimestamp,
  cases,
  eventually,
  expectError,
  isReplay,
  make,
  type OpenApi,
  operationsOf,
} from '../../kit.ts'
import { type Person, register, replayedParts, statuses, upTo, withService } from '../../kit.ts'
import { readParameters } from '../files.ts'
import { csv, openImportScene, rowsOf, start, storedFile } from '../scene.ts'

const { sql, client, service, newProject, filesWithoutImport } = await openImportScene()
const boundary = 'multipart/form-data; boundary=x'

async function send(owner: Person, projectId: string, body: BodyInit, query = '', type?: string) {
  const headers = {
    ...(owner.token && { authorization: `Bearer ${owner.token}` }),
    ...(type && { 'content-type': type }),
  }
  const path = `/api/v1/projects/${projectId}/imports${query}`
  const response = await service.fetch(path, { method: 'POST', headers, body })
  return { status: response.status, body: await response.json(), text: '', headers: response.headers }
}

function formOf(parts: Record<string, string>, file: string | null = csv): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(parts)) form.append(name, value)
  if (file !== null) form.append('file', new Blob([file]), 'tasks.csv')
  return form
}

async function expectNothingStored(projectId: string) {
  expect([await rowsOf(sql, projectId), (await filesWithoutImport()).length]).toEqual([0, 0])
}

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
  const zipped = new Uint8Array(gzipSync(csv))
  const accepted: [string | Uint8Array<ArrayBuffer>, Record<string, string>][] = [
    [csv, { 'content-type': 'application/json' }],
    [csv, { 'content-type': 'text/plain; charset=utf-16' }],
    [csv, { 'content-type': '' }],
    [zipped, { 'content-encoding': 'gzip' }],
  ]
  for (const [file, headers] of accepted) {
    const { owner, projectId } = await newProject()
    const { status, body } = await start(owner, projectId, file, '?source=csv', headers)
    expect([headers, status]).toEqual([headers, 202])
    expect((await storedFile(sql, body.id)).equals(Buffer.from(file))).toBe(true)
  }
})

test('rejects wrong parameters in the query and in a form with 400, and stores nothing', async () => {
  const { owner, projectId } = await newProject()
  for (const { parts, error } of await readParameters()) {
    const texts = Object.entries(parts).map(([name, value]): [string, string] => {
      return [name, typeof value === 'string' ? value : JSON.stringify(value)]
    })
    const answers = [
      await start(owner, projectId, csv, `?${new URLSearchParams(texts)}`),
      await send(owner, projectId, formOf(Object.fromEntries(texts))),
    ]
    const message = expect.stringContaining(error)
    expect(answers.map(({ status, body }) => [status, body.message])).toEqual([
      [400, message],
      [400, message],
    ])
  }
  const twice = await start(owner, projectId, csv, '?source=csv&source=csv')
  expectError(twice, 400, 'source is given more than once')
  await expectNothingStored(projectId)
})

test('accepts a form with the file and the parameters in any order, also in the query, but no parameter in both', async () => {
  const mapping = { statuses: { Ideas: null }, dateFormat: 'DD/MM/YYYY' }
  const parts = { source: 'trello', dryRun: 'true', mapping: JSON.stringify(mapping) }
  const last = formOf({ source: 'trello' })
  for (const [name, value] of Object.entries(parts).slice(1)) last.append(name, value)
  const large = 'x'.repeat(700_000)
  const { source, ...others } = parts
  for (const [form, file, query] of [
    [formOf(parts), csv],
    [last, csv],
    [formOf(parts, large), large],
    [formOf(others), csv, `?source=${source}`],
  ] as const) {
    const { owner, projectId } = await newProject()
    const { status, body } = await send(owner, projectId, form, query)
    expect(body).toMatchObject({ source: 'trello', dryRun: true, mapping, state: 'queued' })
    expect([status, (await storedFile(sql, body.id)).toString()]).toEqual([202, file])
    expect((await owner.get(`/imports/${body.id}`)).body).toEqual(body)
  }
  const { owner, projectId } = await newProject()
  const both = await send(owner, projectId, formOf({ source: 'csv' }), '?source=csv')
  expectError(both, 400, 'source is given more than once')
})

test('rejects an empty file, a ZIP archive and a wrong form with 400, and stores nothing', async () => {
  const { owner, projectId } = await newProject()
  const twice = formOf({ source: 'csv' })
  twice.append('file', new Blob(['x']), 'again.csv')
  const zip = `PK\x03\x04${'x'.repeat(300_000)}`
  const wrong: [string | FormData, string | RegExp][] = [
    ['', 'The file is empty'],
    [zip, /ZIP archive: unpack it/],
    [formOf({ source: 'csv' }, ''), 'The file is empty'],
    [formOf({ source: 'csv' }, zip), /ZIP archive: unpack it/],
    [formOf({ source: 'csv' }, null), /^file is required/],
    [formOf({ source: 'csv', mapping: 'x'.repeat(1_048_577) }), 'mapping must have at most 1048576 bytes'],
    [twice, 'file is given more than once'],
  ]
  for (const [body, message] of wrong)
    expectError(
      await send(owner, projectId, body, typeof body === 'string' ? '?source=csv' : ''),
      400,
      message,
    )
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
  const texts: [text: string, type: string][] = [
    ['title', 'multipart/form-data'],
    ['title', boundary],
    [`${head}title`, boundary],
    [`${head}title\r\n--x`, boundary],
    ['--x\r\n\r\n\r\n--x--', boundary],
    [`--x\r\n--x--\r\n${head}title\r\n--x--`, boundary],
    ['\0'.repeat(100_000), boundary],
  ]
  for (const [text, type] of texts) expectError(await send(owner, projectId, text, '?source=csv', type), 400)
  await expectNothingStored(projectId)
})

test('a form with changed bytes gets 202 or 400', async () => {
  const { owner, projectId } = await newProject()
  const part = (name: string, value: string) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const valid = `${part('source', 'csv')}${part('mapping', '{"people":{"Ada":"ada@example.com"}}')}${part('file', csv)}--x--\r\n`
  const marks = fc.constantFrom('\r\n', '--x', '--x--', '"', '\0', '{', 'file')
  const added = fc.oneof(marks, fc.string({ maxLength: 20 }))
  const change = fc.record({ at: fc.nat(valid.length), removed: fc.nat(40), added })
  const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
    let text = valid
    for (const { at, removed, added } of changes) text = text.slice(0, at) + added + text.slice(at + removed)
    const answer = await send(owner, projectId, text, '', boundary)
    if (answer.status !== 202) expectError(answer, 400)
    await endImports(sql)
  })
  await fc.assert(property, { numRuns: cases(60) })
})

test('the examples of the document are accepted', async () => {
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  const { content } = operationsOf(api).get('post /api/v1/projects/{id}/imports')!.requestBody!
  const type = 'application/octet-stream'
  const { file, ...parts } = content!['multipart/form-data']!.example as Record<string, string>
  const [raw, form] = [await newProject(), await newProject()]
  const answers = [
    await send(raw.owner, raw.projectId, content![type]!.example as string, '?source=csv', type),
    await send(form.owner, form.projectId, formOf(parts, file)),
  ]
  expect(statuses(answers)).toEqual({ 202: 2 })
})

test('a retry with the same Idempotency-Key gets the first import', async () => {
  const { owner, projectId } = await newProject()
  const key = { 'idempotency-key': 'once' }
  const first = await start(owner, projectId, csv, '?source=csv', key)
  const retry = await start(owner, projectId, '', '?source=csv', key)
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
        await eventually('a chunk', async () => (await filesWithoutImport()).length > 0)
        await change()
      }
      controller.enqueue(new Uint8Array(300_000).fill(120))
      if (parts === 2) controller.close()
    },
  })
  const answer = await send(owner, projectId, body, '?source=csv')
  return [answer.status, answer.body.message]
}

test('rejects a file if another import began, or the project was deleted, while the file arrived', async () => {
  const { owner, projectId } = await newProject()
  const begin = async () => expect((await start(owner, projectId)).status).toBe(202)
  const isActive = expect.stringMatching(/^The import .* has not ended/)
  expect(await startAround(owner, projectId, begin)).toEqual([409, isActive])
  expect([await rowsOf(sql, projectId), (await filesWithoutImport()).length]).toEqual([1, 0])
  const other = await newProject()
  const remove = () => other.owner.delete(`/projects/${other.projectId}`)
  expect(await startAround(other.owner, other.projectId, remove)).toEqual([404, 'Project not found'])
  await expectNothingStored(other.projectId)
})

test('stores one of several concurrent uploads to a project, and rejects the others with 409', async () => {
  const { owner, projectId } = await newProject()
  const answers = await Promise.all(upTo(4).map(() => start(owner, projectId)))
  expect(statuses(answers)).toEqual({ 202: 1, 409: 3 })
  const stored = answers.find(({ status }) => status === 202)!.body.id
  expectError(await start(owner, projectId), 409, new RegExp(`^The import ${stored} has not ended`))
  expect(await rowsOf(sql, projectId)).toBe(1)
})

test('does not read the file of a request that is rejected', async () => {
  const { owner, projectId } = await newProject()
  await start(owner, projectId)
  const sent = async (caller: Person) => {
    let pulled = 0
    const pull = (controller: ReadableStreamDefaultController) =>
      void (pulled++, controller.enqueue(new TextEncoder().encode(csv)))
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    return [(await send(caller, projectId, body, '?source=csv')).status, pulled]
  }
  expect(await sent({ ...owner, token: undefined })).toEqual([401, 0])
  expect(await sent(await register(client))).toEqual([404, 0])
  expect(await sent(owner)).toEqual([409, 0])
})

test('a file above IMPORT_BYTES gets 413, whether or not its length is known', async () => {
  await withService({ IMPORT_BYTES: '300000' }, async ({ client, services, fetch }) => {
    const owner = await register(client)
    const { id } = await make(owner, '/projects', { name: 'P' })
    const sql = services.database.background
    const message = 'The body must be at most 300000 bytes'
    expectError(await start(owner, id, 'x'.repeat(300_001)), 413, message)
    const pieces = new ReadableStream({
      start(controller) {
        for (const _ of upTo(4)) controller.enqueue(new Uint8Array(100_000))
        controller.close()
      },
    })
    const headers = { authorization: `Bearer ${owner.token}` }
    const init = { method: 'POST', headers, body: pieces }
    expect((await fetch(`/api/v1/projects/${id}/imports?source=csv`, init)).status).toBe(413)
    expect([await rowsOf(sql, id), (await sql`select from import_chunks`).length]).toEqual([0, 0])
    expect((await start(owner, id, 'x'.repeat(300_000))).status).toBe(202)
  })
})

test('each chunk of a file counts as a write', async () => {
  await withService({ WRITES_PER_MINUTE: '8' }, async ({ client, services }) => {
    const owner = await register(client)
    const { id } = await make(owner, '/projects', { name: 'P' })
    expectError(await start(owner, id, 'x'.repeat(3_000_000)), 429, /^Too many requests/)
    expect(await rowsOf(services.database.background, id)).toBe(0)
  })
})

test('a file must arrive within 10 minutes, however steadily its parts arrive', async () => {
  const pull = async (controller: ReadableStreamDefaultController) => {
    await Bun.sleep(5)
    controller.enqueue(new Uint8Array(1))
  }
  const request = new Request('http://a', { method: 'POST', body: new ReadableStream({ pull }) })
  const read = async () => {
    for await (const part of partsOf(request, 60_000, 50)) expect(part).toHaveLength(1)
  }
  await expect(read()).rejects.toMatchObject({
    status: 408,
    message: 'The file must arrive within 10 minutes',
  })
})
