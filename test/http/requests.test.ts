import {
  expectError,
  make,
  openScene,
  openTestService,
  operationsOf,
  register,
  resolveSchema,
} from '../kit.ts'
import { runBatch, withService, words } from '../kit.ts'
import { readCalls } from './operations.ts'

const { service, client, ada } = await openScene(['Ada'], {})
const { id: projectId } = await make(ada, '/projects', { name: 'P' })
const { id: taskId } = await make(ada, '/tasks', { title: 'T', projectId })
const account = { name: 'A', email: 'a@example.com', password: 'secret-1' }

type Write = [method: string, path: string, valid: object, maxBytes: number, status: number, ignored: string]
/** Operations whose bodies are read by different parts of the service; each ignores a field. */
const writes: Write[] = [
  ['POST', '/auth/register', account, 16_384, 201, 'id'],
  ['POST', '/projects', { name: 'P' }, 1_048_576, 201, 'createdAt'],
  ['PATCH', `/tasks/${taskId}`, { title: 'U' }, 1_048_576, 200, 'createdAt'],
]

async function expectErrors(body: unknown, status: number, message: string | RegExp, headers = {}) {
  for (const [method, path] of writes)
    expectError(await ada.call(method, path, body, headers), status, message)
}

const otherTypes = words('text/plain application/x-www-form-urlencoded multipart/form-data application/jsonp')
otherTypes.push('', 'text/json', 'application/xml', 'json', 'application/json-seq')
const charsets = ['latin1', 'iso-8859-1', 'UTF-16', '"utf-16le"', '', 'utf-8x']
const otherCharsets = charsets.map((charset) => `application/json; charset=${charset}`)
const otherEncodings = ['gzip', 'br', 'deflate', 'identity, gzip', 'x']
const unsupported: [header: string, values: string[], message: string][] = [
  ['content-type', otherTypes, 'The body must be sent with Content-Type: application/json'],
  ['content-type', otherCharsets, 'The body must be sent in UTF-8'],
  ['content-encoding', otherEncodings, 'The body must be sent without a Content-Encoding'],
]

test.each(unsupported)('rejects an unsupported %s with 415', async (header, values, message) => {
  for (const value of values) await expectErrors({}, 415, message, { [header]: value })
})

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

const nested = (levels: number, end: string) =>
  `{"name":${'['.repeat(levels - 1)}"]}\\""${']'.repeat(levels - 1)}${end}`
const deep = 'The body must not be nested deeper than 32 levels'
const malformed = [' ', '{', '{"name":}', "{'name':'x'}", 'name=x', '{"a":1}{"b":2}', '\0', '{"name":"\n"}']
/** Size, depth and number of keys are checked before the syntax. */
const invalid: [message: string | RegExp, bodies: unknown[], status?: number][] = [
  ['A body is required: send a JSON object with Content-Type: application/json', [undefined], 415],
  ['A body is required: send a JSON object', ['']],
  ['The body must be valid JSON', [...malformed, nested(32, ''), nested(32, ']]')]],
  ['The body must be a JSON object', ['null', '[]', '[{}]', '"text"', '1', 'true']],
  [deep, ['}', '', ']]'].map((end) => nested(33, end))],
  [/^(?!The body)/, [nested(32, '}')]],
]

test.each(invalid)('rejects bodies with %p', async (message, bodies, status = 400) => {
  for (const body of bodies) await expectErrors(body, status, message)
})

test('a body may have up to 1 MiB, or up to 16 KiB for registering and signing in, counted in bytes', async () => {
  const padded = (valid: object, ignored: string, bytes: number, filler: string) => {
    const free = bytes - Buffer.byteLength(JSON.stringify({ ...valid, [ignored]: '' }))
    const width = Buffer.byteLength(filler)
    const text = filler.repeat(Math.floor(free / width)) + 'x'.repeat(free % width)
    return JSON.stringify({ ...valid, [ignored]: text })
  }
  for (const [method, path, valid, maxBytes, status, ignored] of writes) {
    for (const filler of ['x', '😀']) {
      const answer = await ada.call(method, path, padded(valid, ignored, maxBytes + 1, filler))
      expectError(answer, 413, `The body must be at most ${maxBytes} bytes`)
    }
    const answer = await ada.call(method, path, padded(valid, ignored, maxBytes, '漢'))
    expect([path, answer.status]).toEqual([path, status])
  }
  const signIn = { email: account.email, password: 'x'.repeat(16_384) }
  expectError(await client.post('/auth/login', signIn), 413, 'The body must be at most 16384 bytes')
})

test('a body may have up to 50,000 keys and elements, which are counted before parsing', async () => {
  const uncountedText = JSON.stringify(',[{'.repeat(50_000))
  // The two keys of the object count too.
  const bodyOf = (count: number, end: string) =>
    `{"text":${uncountedText},"list":[${Array(count - 2).fill('0')}]${end}`
  const message = 'The body must have at most 50000 keys and elements'
  // The second body is not valid JSON, so its parser would return another error.
  for (const end of ['}', '']) expectError(await ada.post('/projects', bodyOf(50_001, end)), 400, message)
  expectError(await ada.post('/projects', bodyOf(50_000, '}')), 400, /is not known here/)
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
  const texts = words('null NULL " \\ \\" {a,b} , $1 ßœ漢😀').concat("'; --", 'a\nb', 'a\r\n\tb', 'a\u2028b')
  await runBatch(
    ada,
    projectId,
    texts.map((text) => ({ op: 'comment.create', taskId, text })),
  )
  expect((await ada.get(`/tasks/${taskId}/comments`)).body.map(({ text }) => text)).toEqual(texts)
})

const order = words('GET HEAD POST PUT PATCH DELETE OPTIONS')

test('OPTIONS returns the methods of a path, and any other method is rejected with 405', async () => {
  const { calls } = await readCalls(client)
  const inDocument = calls.map(({ method, path }) => ({ method, path: `/api/v1${path}` }))
  const pages = words(
    '/ /api /health /health/ready /api/docs /api/docs/json /api/v1/auth/login/ /api/v1/tasks?limit=1',
  )
  const paths = inDocument.map(({ path }) => path.replace(/\{\w+\}/g, projectId))
  for (const path of new Set([...pages, ...paths])) {
    const matches = (one: string) =>
      new RegExp(`^${one.replace(/\{\w+\}/g, '[^/]+')}/?$`).test(path.replace(/\?.*/, ''))
    const found = inDocument.filter((one) => matches(one.path)).map(({ method }) => method)
    const methods = new Set([...(found.length ? found : ['GET']), 'OPTIONS'])
    if (methods.has('GET')) methods.add('HEAD')
    const allow = order.filter((method) => methods.has(method)).join(', ')
    const options = await client.call('OPTIONS', `/../..${path}`)
    const { status, text, headers } = options
    expect([path, status, headers.get('allow'), text]).toEqual([path, 204, allow, ''])
    const method = methods.has('PUT') ? 'POST' : 'PUT'
    const rejected = await client.call(method, `/../..${path}`)
    expectError(rejected, 405, `${method} is not allowed at this path; allowed: ${allow}`)
    for (const one of [options, rejected]) {
      expect(one.headers.get('x-content-type-options')).toBe('nosniff')
      expect(one.headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/)
    }
  }
})

test('returns 404 for an unknown path with every method, and each response has its own X-Request-Id', async () => {
  const ids: (string | null)[] = []
  for (const path of words(`
    /nowhere /api/v1/nowhere /api/v1 // /api/v1/tasks/a/b/c /api/docs/x /api/v1/tasks#x /health/x`))
    for (const method of ['GET', 'OPTIONS', 'PUT', 'HEAD']) {
      const { status, headers } = await client.call(method, `/../..${path}`)
      expect([path, status]).toEqual([path, 404])
      ids.push(headers.get('x-request-id'))
    }
  expect(new Set(ids).size).toBe(32)
})

test('health checks and documentation pages ignore unknown parameters, but reject a URL that is too long', async () => {
  for (const path of ['/health/live', '/health/ready', '/api/docs', '/api/docs/json'])
    expect([path, (await client.get(`/../..${path}?unknown=1`)).status]).toEqual([path, 200])
  for (const check of ['live', 'ready'])
    expect((await client.get(`/../../health/${check}?x=${'x'.repeat(8_192)}`)).status).toBe(414)
})

test('the document marks the read-only fields of every body, and forbids unknown fields', async () => {
  const { api } = await readCalls(client)
  const { requestBody } = operationsOf(api).get('patch /api/v1/tasks/{id}')!
  const schema = resolveSchema(api, requestBody!.content!['application/json']!.schema.$ref!)
  const ignored = ['id', 'createdAt', 'updatedAt', 'position', 'claim', 'importedAuthor']
  expect(requestBody).toMatchObject({ description: `Read-only fields are ignored: ${ignored.join(', ')}` })
  const readOnly = Object.entries(schema.properties!).filter(([, one]) => one.readOnly)
  expect(readOnly.map(([name]) => name)).toEqual(['number', ...ignored])
  for (const [name, { requestBody: body }] of operationsOf(api)) {
    const { $ref } = body?.content?.['application/json']?.schema ?? {}
    if ($ref) expect([name, resolveSchema(api, $ref)]).toMatchObject([name, { additionalProperties: false }])
  }
})

test('HEAD returns the status and headers of GET without a body', async () => {
  for (const path of [
    `/projects/${projectId}`,
    ...words('/projects/x /projects /tasks /auth/me /tasks?limit=0'),
  ]) {
    const [got, head] = [await ada.get(path), await ada.call('HEAD', path)]
    expect([path, head.status, head.text]).toEqual([path, got.status, ''])
    for (const name of words('etag content-type link cache-control vary ratelimit-policy'))
      expect([path, name, head.headers.get(name)]).toEqual([path, name, got.headers.get(name)])
  }
  expect((await client.call('HEAD', '/auth/me')).status).toBe(401)
  const condition = { 'if-none-match': (await ada.get('/auth/me')).headers.get('etag')! }
  expect((await ada.call('HEAD', '/auth/me', undefined, condition)).status).toBe(304)
})

test.each(['/api', '/api/'])('%s redirects to the docs', async (path) => {
  const answer = await service.fetch(path)
  expect([answer.status, answer.headers.get('location')]).toEqual([302, '/api/docs'])
})

const origin = 'https://app.example.com'
const preflight = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization',
}
const corsHeaders = ({ headers }: { headers: Headers }) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))

test('no other origin is allowed by default, and every origin, without credentials, by CORS_ORIGINS=*', async () => {
  for (const headers of [{ origin }, preflight])
    for (const method of ['GET', 'OPTIONS'])
      expect(corsHeaders(await client.call(method, '/projects', undefined, headers))).toEqual([])
  await withService({ CORS_ORIGINS: '*' }, async ({ client }) => {
    const { headers } = await client.get('/auth/me', { origin: 'https://any.example.com' })
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })
})

test('an origin of CORS_ORIGINS is allowed to send requests and to read responses and errors', async () => {
  await using service = await openTestService({ CORS_ORIGINS: `${origin}, http://localhost:5173` })
  const { client } = service
  const ada = await register(client)
  const { status, text, headers } = await client.call('OPTIONS', '/tasks', undefined, preflight)
  expect([status, text, Object.fromEntries(headers)]).toMatchObject([
    ...[204, ''],
    {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
    },
  ])
  const plain = await ada.get('/auth/me')
  const responses = [
    await ada.get('/auth/me', { origin }),
    await ada.get('/projects/none', { origin }),
    await ada.post('/tasks', '{', { origin }),
    await client.get('/auth/me', { origin }),
    await ada.get('/auth/me', { 'if-none-match': plain.headers.get('etag')! }),
  ]
  expect(responses.map(({ status }) => status)).toEqual([200, 404, 400, 401, 304])
  for (const { headers } of responses) expect(headers.get('vary')).toBe('Authorization, Origin')
  for (const { headers } of responses.slice(0, 4)) {
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toContain('ETag')
  }
  expect((await client.get('/../../health/live')).headers.get('vary')).toBe('Origin')
  expect(responses[0]!.headers.get('etag')).toBe(plain.headers.get('etag'))
  for (const other of ['https://evil.example.com', 'https://app.example.com.evil.com', 'null'])
    expect(corsHeaders(await ada.get('/auth/me', { origin: other }))).toEqual([])
})

test('/health returns the same as /health/ready, also after the process has begun to drain', async () => {
  const both = () => Promise.all(['/health', '/health/ready'].map((path) => service.fetch(path)))
  const bodies = await Promise.all((await both()).map((one) => one.json()))
  expect(bodies[0]).toEqual(bodies[1])
  service.services.drain()
  expect((await both()).map(({ status }) => status)).toEqual([503, 503])
})
