import { expect, test } from 'bun:test'
import { register } from '../support/client.ts'
import { words } from '../support/words.ts'
import { expectError } from './responses.ts'
import { endpoints } from './endpoints.ts'
import { createFullProject, registerTeam } from './scene.ts'
import { openScene } from '../support/scene.ts'

/** Before sign-in a body may have less. */
const mostBytes = (path: string) => (/^\/auth\/(register|login)$/.test(path) ? 16_384 : 1_048_576)
const { client, ada } = await openScene(['Ada'])
const people = { ...(await registerTeam(client)), owner: ada, editor: ada }
const things = await createFullProject({ ...people, editor: await register(client) }, await register(client))
const password = 'secret-1'
const writes: { method: string; path: string; body: object }[] = [
  { method: 'POST', path: '/auth/register', body: { name: 'A', email: 'a@example.com', password } },
  { method: 'POST', path: '/auth/login', body: { email: ada.email, password } },
  { method: 'POST', path: '/projects', body: { name: 'P' } },
  ...endpoints.flatMap(({ method, path, body, title }) =>
    body && !/at once|undo|webhook|comment/.test(title)
      ? { method, path: path(things), body: body(things) }
      : [],
  ),
]

test('a body that is not sent as JSON is refused', async () => {
  const types = words('text/plain application/x-www-form-urlencoded multipart/form-data application/jsonp')
  for (const { method, path, body } of writes) {
    for (const type of [...types, '', 'text/json', 'application/xml', 'json', 'application/json-seq']) {
      const answer = await ada.call(method, path, body, { 'content-type': type })
      expectError(answer, 415, 'The body must be sent with Content-Type: application/json')
    }
    expectError(await ada.call(method, path), 415)
  }
})

test('what is not JSON, or not an object, is refused', async () => {
  for (const { method, path } of writes) {
    for (const text of [
      '',
      '{',
      '{"name":}',
      "{'name':'x'}",
      'name=x',
      '{"a":1}{"b":2}',
      '\0',
      '{"name":"\n"}',
    ])
      expectError(await ada.call(method, path, text), 400, 'The body must be valid JSON')
    for (const text of ['null', '[]', '[{}]', '"text"', '1', 'true'])
      expectError(await ada.call(method, path, text), 400, 'The body must be a JSON object')
  }
})

test('a body may have 1 MiB, before sign-in 16 KiB, and not a byte more', async () => {
  const padded = (path: string, body: object, bytes: number, filler: string) => {
    const ignored = path.startsWith('/auth') ? 'id' : 'createdAt'
    const free = bytes - Buffer.byteLength(JSON.stringify({ ...body, [ignored]: '' }))
    const width = Buffer.byteLength(filler)
    const text = filler.repeat(Math.floor(free / width)) + 'x'.repeat(free % width)
    return JSON.stringify({ ...body, [ignored]: text })
  }
  for (const { method, path, body } of writes)
    for (const filler of ['x', 'é', '漢', '😀'])
      expectError(
        await ada.call(method, path, padded(path, body, mostBytes(path) + 1, filler)),
        413,
        `The body must be at most ${mostBytes(path)} bytes`,
      )
  for (const { method, path, body } of writes) {
    const answer = await ada.call(method, path, padded(path, body, mostBytes(path), '漢'))
    expect([path, answer.status]).toEqual([path, method === 'POST' && path !== '/auth/login' ? 201 : 200])
  }
})

test('a body may be nested 32 levels deep, whatever else is wrong with it', async () => {
  const nested = (levels: number, end: string) =>
    `{"name":${'['.repeat(levels - 1)}"]}\\""${']'.repeat(levels - 1)}${end}`
  for (const { method, path } of writes)
    for (const end of ['}', '', ']]']) {
      const answer = await ada.call(method, path, nested(33, end))
      expectError(answer, 400, 'The body must not be nested deeper than 32 levels')
      const most = await ada.call(method, path, nested(32, end))
      expectError(most, 400, end === '}' ? /^(?!The body)/ : /valid JSON/)
    }
})

test('a body in another charset or a coding of its own is refused', async () => {
  for (const { method, path, body } of writes) {
    for (const charset of ['latin1', 'iso-8859-1', 'UTF-16', '"utf-16le"', '', 'utf-8x']) {
      const type = { 'content-type': `application/json; charset=${charset}` }
      expectError(await ada.call(method, path, body, type), 415, 'The body must be sent in UTF-8')
    }
    for (const coding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      const answer = await ada.call(method, path, body, { 'content-encoding': coding })
      expectError(answer, 415, 'The body must be sent without a Content-Encoding')
      expect(answer.headers.get('accept-encoding')).toBe('identity')
    }
  }
  expect((await ada.post('/projects', { name: 'P' }, { 'content-encoding': 'identity' })).status).toBe(201)
})

test('what is not UTF-8 is refused, and never stored as something else', async () => {
  const name = (...bytes: number[]) =>
    Buffer.from([...Buffer.from('{"name":"'), ...bytes, ...Buffer.from('"}')])
  const send = (body: Buffer) => ada.post('/projects', body)
  for (const bytes of [[0xff], [0xe9], [0xc0, 0xaf], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80], [0xc3]])
    expectError(await send(name(...bytes)), 400, 'The body must be valid UTF-8')
  for (const text of ['\ufffd', 'é', '😀', '\ufeff'])
    expect((await send(name(...Buffer.from(text + 'x')))).body.name).toBe((text + 'x').trim())
  const marked = Buffer.concat([Buffer.from('\ufeff'), name(0x61)])
  expect((await send(marked)).body.name).toBe('a')
})

test('a content type may have parameters and any case', async () => {
  for (const type of [
    'application/json; charset=utf-8',
    'application/json;Charset="UTF-8"',
    'Application/JSON',
    'application/json;',
  ])
    expect((await ada.post('/projects', { name: 'P' }, { 'content-type': type })).status).toBe(201)
})

test('every answer carries an id of its own', async () => {
  const seen = new Set<string | null>()
  for (const { method, path, body } of writes)
    for (const sent of [body, {}]) seen.add((await ada.call(method, path, sent)).headers.get('x-request-id'))
  for (const path of ['/projects', '/tasks', '/auth/me', '/nowhere'])
    seen.add((await ada.get(path)).headers.get('x-request-id'))
  expect(seen.has(null)).toBeFalse()
  expect(seen.size).toBe(2 * writes.length + 4)
})

test('a path may end with a slash', async () => {
  expect((await ada.get('/projects/')).status).toBe(200)
  expect((await ada.post('/projects/', { name: 'P' })).status).toBe(201)
})

test('a body may have 50,000 keys and elements, counted before it is parsed', async () => {
  const textIsNotCounted = JSON.stringify(',[{'.repeat(50_000))
  // The object with its two keys, of which the list is one, and the elements.
  const sent = (parts: number, end: string) =>
    `{"text":${textIsNotCounted},"list":[${Array(parts - 2)
      .fill('0')
      .join()}]${end}`
  const { parse } = JSON
  let longParsed = 0
  JSON.parse = (text, ...more) => {
    if (text.length > 50_000) longParsed++
    return parse(text, ...more)
  }
  try {
    for (const end of ['}', '']) {
      const answer = await ada.post('/projects', sent(50_001, end))
      expectError(answer, 400, 'The body must have at most 50000 keys and elements')
    }
    expect(longParsed).toBe(0)
  } finally {
    JSON.parse = parse
  }
  expectError(await ada.post('/projects', sent(50_000, '}')), 400, /is not known here/)
})
