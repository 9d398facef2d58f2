import { createFullProject, expectError, openScene, register, registerTeam, words } from '../kit.ts'
import { endpoints } from './endpoints.ts'

const isSignIn = (path: string) => /^\/auth\/(register|login)$/.test(path)
const maxBytes = (path: string) => (isSignIn(path) ? 16_384 : 1_048_576)
const { client, ada } = await openScene(['Ada'])
const team = { ...(await registerTeam(client)), owner: ada, editor: await register(client) }
const parts = await createFullProject(team, await register(client))
const password = 'secret-1'
interface Write {
  method: string
  path: string
  body: object
}
const writes: Write[] = [
  { method: 'POST', path: '/auth/register', body: { name: 'A', email: 'a@example.com', password } },
  { method: 'POST', path: '/auth/login', body: { email: ada.email, password } },
  { method: 'POST', path: '/projects', body: { name: 'P' } },
  ...endpoints.flatMap(({ method, path, body, title }) =>
    body && !/batch|undo|webhook|comment|claim/.test(title)
      ? { method, path: path(parts), body: body(parts) }
      : [],
  ),
]

async function expectErrors(
  bodyFor: (write: Write) => unknown,
  status: number,
  message: string | RegExp,
  headers: Record<string, string> = {},
): Promise<void> {
  for (const write of writes)
    expectError(await ada.call(write.method, write.path, bodyFor(write), headers), status, message)
}

const notJson = 'The body must be sent with Content-Type: application/json'
const otherTypes = words('text/plain application/x-www-form-urlencoded multipart/form-data application/jsonp')
otherTypes.push('', 'text/json', 'application/xml', 'json', 'application/json-seq')
const charsets = ['latin1', 'iso-8859-1', 'UTF-16', '"utf-16le"', '', 'utf-8x']
const otherCharsets = charsets.map((charset) => `application/json; charset=${charset}`)
const otherEncodings = ['gzip', 'br', 'deflate', 'identity, gzip', 'x']
const unsupported: [header: string, values: string[], message: string][] = [
  ['content-type', otherTypes, notJson],
  ['content-type', otherCharsets, 'The body must be sent in UTF-8'],
  ['content-encoding', otherEncodings, 'The body must be sent without a Content-Encoding'],
]

test.each(unsupported)('rejects an unsupported %s with 415: %p', async (header, values, message) => {
  for (const value of values) await expectErrors(({ body }) => body, 415, message, { [header]: value })
})

test('rejects a write without its body and Content-Type with 415, and says that a body is required', () =>
  expectErrors(
    () => undefined,
    415,
    'A body is required: send a JSON object with Content-Type: application/json',
  ))

test('accepts a content type with parameters and in any letter case, and the content encoding identity', async () => {
  const types = ['application/json;Charset="UTF-8"', 'Application/JSON', 'application/json;']
  for (const headers of [
    ...['application/json; charset=utf-8', ...types].map((type) => ({ 'content-type': type })),
    { 'content-encoding': 'identity' },
  ])
    expect((await ada.post('/projects', { name: 'P' }, headers)).status).toBe(201)
  const encoded = await ada.post('/projects', { name: 'P' }, { 'content-encoding': 'gzip' })
  expect(encoded.headers.get('accept-encoding')).toBe('identity')
})

test('rejects a body that is not JSON, or not an object, with 400', async () => {
  const malformed = [' ', '{', '{"name":}', "{'name':'x'}", 'name=x', '{"a":1}{"b":2}', '\0', '{"name":"\n"}']
  for (const text of malformed) await expectErrors(() => text, 400, 'The body must be valid JSON')
  await expectErrors(() => '', 400, 'A body is required: send a JSON object')
  for (const text of ['null', '[]', '[{}]', '"text"', '1', 'true'])
    await expectErrors(() => text, 400, 'The body must be a JSON object')
})

test('a body may have up to 1 MiB, or up to 16 KiB for registering and signing in', async () => {
  const padded = ({ path, body }: Write, bytes: number, filler: string) => {
    const ignored = path.startsWith('/auth') ? 'id' : 'createdAt'
    const free = bytes - Buffer.byteLength(JSON.stringify({ ...body, [ignored]: '' }))
    const width = Buffer.byteLength(filler)
    const text = filler.repeat(Math.floor(free / width)) + 'x'.repeat(free % width)
    return JSON.stringify({ ...body, [ignored]: text })
  }
  for (const write of writes) {
    const { method, path } = write
    for (const filler of ['x', 'é', '漢', '😀']) {
      const response = await ada.call(method, path, padded(write, maxBytes(path) + 1, filler))
      expectError(response, 413, `The body must be at most ${maxBytes(path)} bytes`)
    }
    const { status } = await ada.call(method, path, padded(write, maxBytes(path), '漢'))
    expect([path, status]).toEqual([path, method === 'POST' && !/login|append/.test(path) ? 201 : 200])
  }
})

test('a body may be nested up to 32 levels deep, which is checked before its syntax', async () => {
  const nested = (levels: number, end: string) =>
    `{"name":${'['.repeat(levels - 1)}"]}\\""${']'.repeat(levels - 1)}${end}`
  for (const end of ['}', '', ']]']) {
    await expectErrors(() => nested(33, end), 400, 'The body must not be nested deeper than 32 levels')
    await expectErrors(() => nested(32, end), 400, end === '}' ? /^(?!The body)/ : /valid JSON/)
  }
})

test('rejects a body that is not UTF-8 with 400, and stores other text unchanged', async () => {
  const bodyNamed = (...bytes: number[]) =>
    Buffer.from([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')])
  const send = (body: Buffer) => ada.post('/projects', body)
  for (const bytes of [[0xff], [0xe9], [0xc0, 0xaf], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80], [0xc3]])
    expectError(await send(bodyNamed(...bytes)), 400, 'The body must be valid UTF-8')
  for (const text of ['\ufffd', 'é', '😀', '\ufeff'])
    expect((await send(bodyNamed(...Buffer.from(text + 'x')))).body.name).toBe((text + 'x').trim())
  const withByteOrderMark = Buffer.concat([Buffer.from('\ufeff'), bodyNamed(0x61)])
  expect((await send(withByteOrderMark)).body.name).toBe('a')
})

test('stores texts unchanged, whatever characters they contain, also many at once', async () => {
  const texts = [
    'null',
    'NULL',
    '"',
    '\\',
    '\\"',
    '{a,b}',
    ',',
    'a\nb',
    'a\r\n\tb',
    "'; --",
    'ßœ漢😀',
    'a\u2028b',
    '$1',
  ]
  const { id } = (await ada.post('/projects', { name: 'P' })).body
  const comments = texts.map((text) => ({ op: 'comment.create', taskId: '#t', text }))
  const operations = [{ op: 'task.create', as: 't', title: 'T' }, ...comments]
  const { body } = await ada.post(`/projects/${id}/batch`, { operations })
  const { results } = body as unknown as { results: { id: string }[] }
  const stored = (await ada.get(`/tasks/${results[0]!.id}/comments`)).body
  expect(stored.map(({ text }) => text)).toEqual(texts)
})

test('every response has its own X-Request-Id', async () => {
  const responses = writes.map(({ method, path }) => ada.call(method, path, {}))
  for (const path of ['/projects', '/tasks', '/auth/me', '/nowhere']) responses.push(ada.get(path))
  const ids = (await Promise.all(responses)).map(({ headers }) => headers.get('x-request-id'))
  expect(new Set(ids).size).toBe(responses.length)
})

test('a path may end with a slash', async () => {
  expect((await ada.get('/projects/')).status).toBe(200)
  expect((await ada.post('/projects/', { name: 'P' })).status).toBe(201)
})

test('a body may have up to 50,000 keys and elements, which are counted before parsing', async () => {
  const uncountedText = JSON.stringify(',[{'.repeat(50_000))
  // The two keys of the object count too.
  const bodyOf = (count: number, end: string) =>
    `{"text":${uncountedText},"list":[${Array(count - 2).fill('0')}]${end}`
  // The second body is not valid JSON, so its parser would return another error.
  for (const end of ['}', ''])
    expectError(
      await ada.post('/projects', bodyOf(50_001, end)),
      400,
      'The body must have at most 50000 keys and elements',
    )
  expectError(await ada.post('/projects', bodyOf(50_000, '}')), 400, /is not known here/)
})
