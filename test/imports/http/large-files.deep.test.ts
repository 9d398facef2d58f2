import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type Body, holdTransaction, untilBlocked, upTo } from '../../kit.ts'
import { peakMib } from '../../support/peak-memory.ts'
import { firstAnswer, openSocketScene } from './socket-scene.ts'

const mebi = 1_048_576
const { web, sql, open, newProject } = await openSocketScene(60_000)

test('a larger body to another route gets 413 without being stored in memory', async () => {
  const { owner } = await newProject()
  const large = 'x'.repeat(60 * mebi)
  const before = peakMib(web.pid)
  const answers = await Promise.all(upTo(4).map(() => owner.post('/projects', large)))
  expect(answers.map(({ status }) => status)).toEqual([413, 413, 413, 413])
  expect(peakMib(web.pid) - before).toBeLessThan(64)
})

test('reads no more of a file than it can store: while Postgres is slow, the client waits', async () => {
  const { head } = await newProject()
  const release = await holdTransaction(sql, (tx) => tx`lock table import_chunks in exclusive mode`)
  const before = peakMib(web.pid)
  const socket = open()
  const answer = firstAnswer(socket)
  socket.write(head({ 'Content-Length': 64 * mebi }))
  const piece = Buffer.alloc(mebi, 120)
  let sent = 0
  const sending = (async () => {
    for (; sent < 64; sent++) if (!socket.write(piece)) await once(socket, 'drain')
  })()
  await untilBlocked(sql).then(() => Bun.sleep(1_000))
  const [sentMib, grewMib] = [sent, peakMib(web.pid) - before]
  await release()
  // The buffers of the operating system take some megabytes.
  expect(sentMib).toBeLessThan(32)
  expect(grewMib).toBeLessThan(32)
  await sending
  expect(await answer).toStartWith('HTTP/1.1 202')
  socket.destroy()
})

test('stores twelve files of 64 MiB, six at once, in little memory, whether or not their length is known, and in forms', async () => {
  const file = new Uint8Array(randomBytes(64 * mebi))
  const digest = createHash('sha256').update(file).digest('hex')
  const pieces = () =>
    new ReadableStream({
      start(controller) {
        for (const n of upTo(64)) controller.enqueue(file.subarray((n - 1) * mebi, n * mebi))
        controller.close()
      },
    })
  const form = new FormData()
  form.append('file', new Blob([file]))
  const store = async (body: Uint8Array<ArrayBuffer> | ReadableStream | FormData) => {
    const { owner, path } = await newProject()
    const headers = { authorization: `Bearer ${owner.token}` }
    const response = await fetch(web.url + path, { method: 'POST', headers, body })
    expect(response.status).toBe(202)
    const { id } = (await response.json()) as Body
    const [row] = await sql`
      select count(*)::int4 as n, encode(sha256(string_agg(bytes, '' order by n)), 'hex') as digest
      from import_chunks where import_id = ${id}`
    expect(row).toEqual({ n: 256, digest } as never)
  }
  const before = peakMib(web.pid)
  for (const _ of upTo(2)) await Promise.all([file, pieces(), form, file, pieces(), form].map(store))
  // Measured: 116 MiB; with chunks as parameters in place of COPY 203 MiB.
  expect(peakMib(web.pid) - before).toBeLessThan(160)
})
