import fc from 'fast-check'
import { cases, expectError, type OpenApi, operationsOf, type Person } from '../../kit.ts'
import { endImports } from '../../http/own-import.ts'
import { csv, openImportScene, rowsOf, storedFile } from './scene.ts'

const scene = await openImportScene()
const { sql, client, newProject, service } = scene

async function send(owner: Person, projectId: string, body: FormData | string, query = '', type?: string) {
  const headers: Record<string, string> = { authorization: `Bearer ${owner.token}` }
  if (type) headers['content-type'] = type
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

test('accepts a form with the file and the parameters, in any order', async () => {
  const mapping = { statuses: { Ideas: null }, dateFormat: 'DD/MM/YYYY' }
  const parts = { source: 'trello', dryRun: 'true', mapping: JSON.stringify(mapping) }
  const last = formOf({ source: 'trello' })
  for (const [name, value] of Object.entries(parts).slice(1)) last.append(name, value)
  const large = 'x'.repeat(700_000)
  for (const [form, file] of [
    [formOf(parts), csv],
    [last, csv],
    [formOf(parts, large), large],
  ] as const) {
    const { owner, projectId } = await newProject()
    const { status, body } = await send(owner, projectId, form)
    expect(body).toMatchObject({ source: 'trello', dryRun: true, mapping, state: 'queued' })
    expect([status, (await storedFile(sql, body.id)).toString()]).toEqual([202, file])
    expect((await owner.get(`/imports/${body.id}`)).body).toEqual(body)
  }
})

test('accepts the parameters of a form in the query, but no parameter in both', async () => {
  const { owner, projectId } = await newProject()
  const both = await send(owner, projectId, formOf({ source: 'csv' }), '?source=csv')
  expectError(both, 400, 'source is given more than once')
  expect((await send(owner, projectId, formOf({}), '?source=csv')).status).toBe(202)
})

test('rejects a wrong form with 400, and stores nothing', async () => {
  const { owner, projectId } = await newProject()
  const twice = formOf({ source: 'csv' })
  twice.append('file', new Blob(['x']), 'again.csv')
  const wrong: [FormData, string | RegExp][] = [
    [formOf({}), /^source is required/],
    [formOf({ source: 'csv' }, null), /^file is required/],
    [formOf({ source: 'csv' }, ''), 'The file is empty'],
    [formOf({ source: 'csv' }, 'PK\x03\x04'), /ZIP/],
    [formOf({ source: 'csv', mapings: '{}' }), 'mapings is not known here; did you mean mapping?'],
    [formOf({ source: 'excel' }), /^source must be one of/],
    [formOf({ source: 'csv', mapping: '[]' }), 'mapping must be a JSON object'],
    [formOf({ source: 'csv', mapping: 'x'.repeat(1_048_577) }), 'mapping must have at most 1048576 bytes'],
    [twice, 'file is given more than once'],
  ]
  for (const [form, message] of wrong) expectError(await send(owner, projectId, form), 400, message)
  const type = 'multipart/form-data; boundary=x'
  const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
  const texts: [text: string, type: string][] = [
    ['title', 'multipart/form-data'],
    ['title', type],
    [`${head}title`, type],
    [`${head}title\r\n--x`, type],
    ['--x\r\n\r\n\r\n--x--', type],
    [`--x\r\n--x--\r\n${head}title\r\n--x--`, type],
    ['\0'.repeat(100_000), type],
  ]
  for (const [text, type] of texts) expectError(await send(owner, projectId, text, '?source=csv', type), 400)
  expect(await rowsOf(sql, projectId)).toBe(0)
  expect(
    (await sql`select from import_chunks c where not exists (select from imports where id = c.import_id)`)
      .length,
  ).toBe(0)
})

test('a form with changed bytes gets 202 or 400', async () => {
  const { owner, projectId } = await newProject()
  const part = (name: string, value: string) =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const valid = `${part('source', 'csv')}${part('mapping', '{"people":{"Ada":"ada@example.com"}}')}${part('file', csv)}--x--\r\n`
  const change = fc.record({
    at: fc.nat(valid.length),
    removed: fc.nat(40),
    added: fc.oneof(
      fc.constantFrom('\r\n', '--x', '--x--', '"', '\0', '{', 'file'),
      fc.string({ maxLength: 20 }),
    ),
  })
  const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
    const text = changes.reduce(
      (text, { at, removed, added }) => text.slice(0, at) + added + text.slice(at + removed),
      valid,
    )
    const answer = await send(owner, projectId, text, '', 'multipart/form-data; boundary=x')
    if (answer.status !== 202) expectError(answer, 400)
    await endImports(sql)
  })
  await fc.assert(property, { numRuns: cases(60) })
})

test('the examples of the document are accepted', async () => {
  const api = (await client.get('/../docs/json')).body as unknown as OpenApi
  const { content } = operationsOf(api).get('post /api/v1/projects/{id}/imports')!.requestBody!
  const file = content!['application/octet-stream']!.example as string
  const { file: inForm, ...parts } = content!['multipart/form-data']!.example as Record<string, string>
  const [raw, form] = [await newProject(), await newProject()]
  expect((await send(raw.owner, raw.projectId, file, '?source=csv', 'application/octet-stream')).status).toBe(
    202,
  )
  expect((await send(form.owner, form.projectId, formOf(parts, inForm))).status).toBe(202)
})
