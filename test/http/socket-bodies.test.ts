import { chunk, expectError, forFile, openClient } from '../kit.ts'
import { openRawClient } from './raw-client.ts'

const { web, ada, projectId, send } = await forFile(openRawClient())

const mebi = 1_048_576
const json = { 'Content-Type': 'application/json' }
const chunked = { ...json, 'Transfer-Encoding': 'chunked' }

test('a request that is rejected anyway gets its usual error also with a body above the limit', async () => {
  const large = 'x'.repeat(8 * mebi)
  const anonymous = openClient(web.url)
  expectError(await anonymous.post('/projects', large), 401)
  expectError(await ada.post('/nowhere', large), 404)
  expectError(await ada.post('/projects', large, { 'content-type': 'text/plain' }), 415)
  expectError(await ada.delete('/projects/none'), 404)
})

test('a body in several chunks is read as one body', async () => {
  const pieces = ['{"title":', '"In pieces","projectId"', `:"${projectId}"}`]
  const answer = await send('POST', '/api/v1/tasks', chunked, ...pieces.map(chunk), chunk(''))
  expect([answer.status, answer.body]).toEqual([201, expect.stringContaining('"title":"In pieces"')])
})

test('an incomplete body is not logged as an error of the service', async () => {
  await send('POST', '/api/v1/projects', chunked, 'no chunk\r\n')
  await send('POST', '/api/v1/projects', chunked, chunk('x'.repeat(3 * 1_048_576)))
  expect(web.output.filter((line) => line.includes('"level":50'))).toEqual([])
})
