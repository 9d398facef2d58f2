import { chunk, eventually, expectRawError, upTo } from '../../kit.ts'
import { firstAnswer, openSocketScene } from './socket-scene.ts'

const mebi = 1_048_576
const { sql, open, newProject } = await openSocketScene(2_000)

const isGone = (projectId: string) =>
  eventually('the removal of the import', async () => {
    const rows = await sql`select id from imports where project_id = ${projectId}`
    return rows.length + (await filesWithoutImport()).length === 0
  })

test('a file of more than 64 MiB gets 413 at once if its length is known, else when it exceeds the limit', async () => {
  const { id, send } = await newProject()
  expectRawError(await send({ 'Content-Length': 64 * mebi + 1 }, 'title'), 413)
  const piece = chunk('x'.repeat(mebi))
  const { status } = await send({ 'Transfer-Encoding': 'chunked' }, ...Array(80).fill(piece))
  expect([0, 413]).toContain(status)
  await isGone(id)
})

test('a client that pauses too long gets 408, and the import is removed', async () => {
  const { id, send } = await newProject()
  const answer = await send({ 'Content-Length': mebi }, 'x'.repeat(300_000))
  expectRawError(answer, 408)
  expect(answer.head.toLowerCase()).toContain('connection: close')
  await isGone(id)
})

test('accepts a slow client that sends some bytes within each timeout', async () => {
  const { head } = await newProject()
  const socket = open()
  const answer = firstAnswer(socket)
  socket.write(head({ 'Content-Length': 12 }))
  for (const _ of upTo(12)) {
    await Bun.sleep(200)
    socket.write('x')
  }
  expect(await answer).toStartWith('HTTP/1.1 202')
  socket.destroy()
})

const filesWithoutImport = () =>
  sql`select from import_chunks c where not exists (select from imports where id = c.import_id)`

test('a disconnect removes the import and its chunks, and the project accepts another import', async () => {
  for (const isKnown of [true, false]) {
    const { owner, id, head, path } = await newProject()
    const socket = open()
    const bytes = 'x'.repeat(300_000)
    const headers: Record<string, string | number> = isKnown
      ? { 'Content-Length': mebi }
      : { 'Transfer-Encoding': 'chunked' }
    socket.write(head(headers) + (isKnown ? bytes : chunk(bytes)))
    await eventually('a stored chunk', async () => (await filesWithoutImport()).length > 0)
    expect((await owner.get(`/projects/${id}/imports`)).text).toBe('[]')
    socket.destroy()
    await isGone(id)
    expect((await owner.post(path.replace('/api/v1', ''), 'title')).status).toBe(202)
  }
})
