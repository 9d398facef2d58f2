import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'bun:test'
import { chunk, expectRawError, requestHead, sendRaw } from '../../http/raw.ts'
import { eventually, upTo } from '../../races/pair.ts'
import { openWebProcess } from '../../support/web-process.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { readConfig } from '../../../src/config.ts'
import { type Body, make, openClient, register } from '../../support/client.ts'
import { holdTransaction, untilBlocked } from '../../support/database.ts'
import { forFile } from '../../support/service.ts'

const mebi = 1_048_576
const { web, env } = await openWebProcess({ BODY_TIMEOUT_MS: '3000' })
const { background: sql } = await forFile(openDatabase(readConfig(env)))

/** Returns the peak resident memory of a process in MiB; 0 on a system without /proc. The first tests measure it. */
function peakMib(pid: number): number {
  const path = `/proc/${pid}/status`
  const [, kib = '0'] = (existsSync(path) && /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(path, 'utf8'))) || []
  return Number(kib) / 1024
}

const open = (): Socket => connect(Number(new URL(web.url).port), '127.0.0.1')
const firstAnswer = (socket: Socket) =>
  new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))

async function newProject() {
  const owner = await register(openClient(web.url))
  const { id } = await make(owner, '/projects', { name: 'P' })
  const path = `/api/v1/projects/${id}/imports?source=csv`
  const head = (headers: Record<string, string | number>) =>
    requestHead('POST', path, { Authorization: `Bearer ${owner.token}`, ...headers })
  return {
    owner,
    id,
    path,
    head,
    send: (headers: Record<string, string | number>, ...body: string[]) =>
      sendRaw(web.url, head(headers), ...body),
  }
}

const isGone = (projectId: string) =>
  eventually('the removal of the import', async () => {
    const rows = await sql`select id from imports where project_id = ${projectId}`
    const chunks =
      await sql`select import_id from import_chunks c where not exists (select from imports where id = c.import_id)`
    return rows.length + chunks.length === 0
  })

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

test('a client may be slow, as long as it sends something', async () => {
  const { head } = await newProject()
  const socket = open()
  const answer = firstAnswer(socket)
  socket.write(head({ 'Content-Length': 12 }))
  for (const _ of upTo(12)) {
    await Bun.sleep(300)
    socket.write('x')
  }
  expect(await answer).toStartWith('HTTP/1.1 202')
  socket.destroy()
})

async function hasBegun(projectId: string): Promise<void> {
  await eventually('a stored chunk', async () => {
    const stored =
      await sql`select n from import_chunks c join imports i on i.id = c.import_id where i.project_id = ${projectId}`
    return stored.length > 0
  })
}

test('when the client goes away, the import and its chunks are removed, and the project accepts another import', async () => {
  for (const isKnown of [true, false]) {
    const { owner, id, head, path } = await newProject()
    const socket = open()
    const bytes = 'x'.repeat(300_000)
    const headers: Record<string, string | number> = isKnown
      ? { 'Content-Length': mebi }
      : { 'Transfer-Encoding': 'chunked' }
    socket.write(head(headers) + (isKnown ? bytes : chunk(bytes)))
    await hasBegun(id)
    expect((await owner.get(`/projects/${id}/imports`)).text).toBe('[]')
    socket.destroy()
    await isGone(id)
    expect((await owner.post(path.replace('/api/v1', ''), 'title')).status).toBe(202)
  }
})

test('stores files of 64 MiB, whether or not their length is known, and also in forms', async () => {
  const file = new Uint8Array(64 * mebi).fill(120)
  const pieces = () =>
    new ReadableStream({
      start(controller) {
        for (const n of upTo(64)) controller.enqueue(file.subarray((n - 1) * mebi, n * mebi))
        controller.close()
      },
    })
  const form = new FormData()
  form.append('file', new Blob([file]))
  for (const body of [file, pieces(), form]) {
    const { owner, path } = await newProject()
    const headers = { authorization: `Bearer ${owner.token}` }
    const response = await fetch(web.url + path, { method: 'POST', headers, body })
    const { id } = (await response.json()) as Body
    expect(response.status).toBe(202)
    const [row] =
      await sql`select count(*)::int4 as n, sum(length(bytes))::int4 as bytes from import_chunks where import_id = ${id}`
    expect(row).toEqual({ n: 256, bytes: file.length } as never)
  }
})
