import { afterAll, beforeAll, expect, test } from 'bun:test'
import { make, openClient, type Person, register } from '../support/client.ts'
import { freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'
import { chunk, exchange, expectRaw, head } from './raw.ts'

let web: ServiceProcess
let drop: () => Promise<void>
let ada: Person
let projectId: string
let withToken: Record<string, string>
const json = { 'Content-Type': 'application/json' }

beforeAll(async () => {
  const fresh = await freshEnv()
  drop = fresh.drop
  web = await spawnService('web', fresh.env)
  ada = await register(openClient(web.url))
  projectId = (await make(ada, '/projects', { name: 'Sockets' })).id
  withToken = { Authorization: `Bearer ${ada.token}` }
})
afterAll(async () => {
  expect(await web.stop()).toBe(0)
  await drop()
})

const ask = (
  method: string,
  path: string,
  headers: Record<string, string | number> = {},
  ...body: string[]
) => exchange(web.url, head(method, path, { ...withToken, ...headers }), ...body)

test('a body of a byte too much is refused in the error shape, its length told or not', async () => {
  const body = JSON.stringify({ name: 'x'.repeat(1_048_577 - '{"name":""}'.length) })
  expectRaw(await ask('POST', '/api/v1/projects', { ...json, 'Content-Length': body.length }, body), 413)
  const chunked = { ...json, 'Transfer-Encoding': 'chunked' }
  expectRaw(await ask('POST', '/api/v1/projects', chunked, chunk(body), chunk('')), 413)
})

test('a body far too large is refused or cut off, never read to its end', async () => {
  const large = 'x'.repeat(3 * 1_048_576)
  const told = await ask('POST', '/api/v1/projects', { ...json, 'Content-Length': large.length }, large)
  expect([0, 413]).toContain(told.status)
  const chunked = { ...json, 'Transfer-Encoding': 'chunked' }
  const untold = await ask('POST', '/api/v1/projects', chunked, chunk(large), chunk(large), chunk(''))
  expect([0, 413]).toContain(untold.status)
  expect((await ada.get('/projects')).body).toHaveLength(1)
})

test('a body that comes in pieces is one body', async () => {
  const chunked = { ...json, 'Transfer-Encoding': 'chunked' }
  const pieces = ['{"title":', '"In pieces","projectId"', `:"${projectId}"}`]
  const answer = await ask('POST', '/api/v1/tasks', chunked, ...pieces.map(chunk), chunk(''))
  expect([answer.status, answer.body]).toEqual([201, expect.stringContaining('"title":"In pieces"')])
})

test("a body that breaks off is the sender's fault and not an error of ours", async () => {
  const chunked = { ...json, 'Transfer-Encoding': 'chunked' }
  await ask('POST', '/api/v1/projects', chunked, 'no chunk\r\n')
  await ask('POST', '/api/v1/projects', chunked, chunk('x'.repeat(3 * 1_048_576)))
  expect(web.output.filter((line) => line.includes('"level":50'))).toEqual([])
})
