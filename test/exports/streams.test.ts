import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { respondWithFile, zipped } from '../../modules/exports/response.ts'
import { createApp, eventually, forFile, holdTransaction, make, newId, openScene, register } from '../kit.ts'
import { remainingBudget, requestHead, sendRaw } from '../kit.ts'
import { expectTransactions, exported, linesOf, withoutTime } from './scene.ts'

const { service, ada, sql } = await openScene(['Ada'])
const app = createApp(service.services).listen({ hostname: '127.0.0.1', port: 0 })
await forFile({ stop: () => app.server!.stop(true) })
const { port } = app.server!
const url = `http://127.0.0.1:${port}`

/** A project whose export exceeds what sockets buffer. */
const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
await make(ada, '/tasks', { projectId, title: 'First' })
await sql`insert into tasks (id, project_id, number, title, description, status, priority, created_at, updated_at, event_id)
  select uuidv7(), project_id, n, 'Task', repeat(md5(n::text), 300), status, priority, created_at, updated_at, event_id
  from tasks, generate_series(2, 1500) n where project_id = ${projectId}`
await sql`update streams set last_number = 1500 where project_id = ${projectId}`

const path = `/api/v1/projects/${projectId}/export`
const headers = { authorization: `Bearer ${ada.token}` }

/** After a disconnect, the export of the account ends soon. */
async function disconnect(socket: Socket) {
  socket.destroy()
  const isOver = async () =>
    (await ada.at(url).get(`/projects/${projectId}/export?format=csv`)).status === 200
  await eventually('the end of the export', isOver)
}

/** Begins an export and receives only its start. */
async function beginSlowly() {
  const socket = connect(port!, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: docket\r\nAuthorization: ${headers.authorization}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return socket
}

test('a slow client keeps no transaction, and after its disconnect another export can begin', async () => {
  const socket = await beginSlowly()
  await expectTransactions(sql, 0)
  const { status, headers: own } = await ada.at(url).get(`/projects/${projectId}/export`)
  expect([status, own.get('retry-after')]).toEqual([429, '1'])
  await disconnect(socket)
})

async function newOwner() {
  const person = await register(service.client)
  const project = await make(person, '/projects', { name: 'P' })
  return { person, path: `/api/v1/projects/${project.id}/export`, projectId: project.id }
}

/** Begins an export of 9.6 MB, which no compression shrinks, and receives only its start. */
async function beginOfNewOwner() {
  const { person, projectId: id } = await newOwner()
  await sql`insert into tasks (id, project_id, number, title, description, status, priority, created_at, updated_at, event_id)
    select uuidv7(), ${id}, n, 'Task', (select string_agg(md5(random()::text || n || i), '') from generate_series(1, 300) i),
      'TODO', 'LOW', now(), now(), uuidv7() from generate_series(1, 1000) n`
  await sql`update streams set last_number = 1000 where project_id = ${id}`
  const socket = connect(port!, '127.0.0.1')
  socket.write(
    `GET /api/v1/projects/${id}/export HTTP/1.1\r\nHost: docket\r\nAuthorization: Bearer ${person.token}\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return { socket, person, id }
}

test('clients that read nothing delay no export of other accounts', async () => {
  const slow = []
  for (let n = 0; n < 6; n++) slow.push(await beginOfNewOwner())
  for (const path of [`/projects/${projectId}/export`, '/export'])
    expect((await ada.at(url).get(path)).status).toBe(200)
  await expectTransactions(sql, 0)
  for (const one of slow) one.socket.destroy()
})

test('a slow client gets its whole file, and meanwhile no other export of its account', async () => {
  const { socket, person, id } = await beginOfNewOwner()
  expect((await person.at(url).get(`/projects/${id}/export`)).status).toBe(429)
  let [bytes, end] = [0, '']
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    end = chunk.subarray(-5).toString()
  })
  socket.resume()
  await eventually('the end of the file', () => bytes > 9_600_000 && end === '0\r\n\r\n')
  socket.destroy()
})

test('exports that read the database wait for one of four places', async () => {
  const release = await holdTransaction(sql, (tx) => tx`lock table comments`)
  const all = await Promise.all(Array.from({ length: 5 }, newOwner))
  const statuses: number[] = []
  const exporting = all.map(async ({ person, projectId: id }) => {
    const answer = await person.at(url).get(`/projects/${id}/export`)
    statuses.push(answer.status)
  })
  await expectTransactions(sql, 5)
  expect(statuses).toEqual([])
  await release()
  await Promise.all(exporting)
  expect(statuses).toEqual([200, 200, 200, 200, 200])
  await expectTransactions(sql, 0)
})

test('an export without a place costs nothing', async () => {
  const socket = await beginSlowly()
  const budget = async () => remainingBudget(await ada.get(`/projects/${projectId}`))
  const before = await budget()
  for (let n = 0; n < 9; n++) expect((await ada.at(url).get('/export')).status).toBe(429)
  expect(before - (await budget())).toBeWithin(0, 20)
  await disconnect(socket)
})

test('rejects an export with 503 if no temporary file can be created', async () => {
  const { TMPDIR } = process.env
  process.env.TMPDIR = '/nowhere'
  try {
    const { person, projectId: id } = await newOwner()
    for (const path of [`/projects/${id}/export`, '/export']) {
      const { status, body } = await person.get(path)
      expect([status, body.message]).toEqual([
        503,
        expect.stringMatching(/^The service cannot store a temporary file/),
      ])
    }
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
})

test('rejects an export with 503 if the disk of temporary files is full', async () => {
  const spool = new URL('../../modules/exports/spool.ts', import.meta.url).pathname
  const script = `import { Spool } from '${spool}'
    await Spool.open({ isWanted: false }).catch(({ status, message }) => console.log(status, message))`
  // A file may have 32 KiB, as if the rest of the disk was full.
  const limited = `ulimit -f 64; trap '' XFSZ; exec "$0" -e "$1"`
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, script])
  expect(stdout).toStartWith('503 The service cannot store a temporary file (EFBIG); its operator must')
})

test('the file is the same with and without gzip', async () => {
  const address = url + path
  const plain = await fetch(address, { headers: { ...headers, 'accept-encoding': 'identity' } })
  const zipped = await fetch(address, { headers: { ...headers, 'accept-encoding': 'gzip' } }).catch(
    () => null,
  )
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(zipped?.status).toBe(429)
  const whole = await plain.text()
  const [text, lines] = [withoutTime(whole), linesOf(whole)]
  expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length })
  expect(lines.filter(({ kind }) => kind === 'task')).toHaveLength(1_500)
  const again = await fetch(address, { headers: { ...headers, 'accept-encoding': 'gzip' } })
  expect([again.headers.get('content-encoding'), again.headers.get('vary')]).toEqual([
    'gzip',
    'Authorization, Accept-Encoding',
  ])
  expect(withoutTime(await again.text())).toBe(text)
})

test('HEAD returns the headers of GET without a length, also while the account has an export', async () => {
  const paths = ['', '?format=csv', '?asOf=1', '?asOf=99', '?history=true&format=csv']
  const all = [...paths.map((query) => path + query), '/api/v1/export', `/api/v1/projects/${newId()}/export`]
  const sent = async (method: string, one: string) => {
    const extra = { Authorization: headers.authorization, 'Accept-Encoding': 'gzip' }
    const { head } = await sendRaw(url, requestHead(method, one, { ...extra }))
    const varying = /^(date|x-request-id|ratelimit|connection)/i
    return head
      .split('\r\n')
      .filter((line) => !varying.test(line))
      .map((line) => line.toLowerCase())
      .sort()
  }
  const got: string[][] = []
  for (const one of all) got.push(await sent('GET', one))
  const socket = await beginSlowly()
  for (const [n, one] of all.entries()) expect([one, await sent('HEAD', one)]).toEqual([one, got[n]!])
  expect(got[0]).toContain('transfer-encoding: chunked')
  await disconnect(socket)
})

async function serve(chunks: AsyncGenerator<string, void, void>, limitMs = { stall: 30_000, all: 60_000 }) {
  const ended: unknown[] = []
  const server = Bun.serve({
    port: 0,
    fetch: (request) =>
      respondWithFile(
        request,
        {
          ...{ name: 'x', contentType: 'text/csv', chunks: zipped(chunks) },
          close: async () => void ended.push('closed'),
          failed: (error) => ended.push(String(error)),
        },
        limitMs,
      ),
    error: () => new Response(null, { status: 500 }),
  })
  await forFile({ stop: () => server.stop(true) })
  return { url: `http://127.0.0.1:${server.port}/`, port: server.port!, ended }
}

async function* broken() {
  yield randomBytes(1_000_000).toString('hex')
  await Bun.sleep(20)
  throw new Error('broken')
}

test('clients detect an error after the start, with and without gzip', async () => {
  for (const encoding of ['identity', 'gzip']) {
    const { url, ended } = await serve(broken())
    const response = await fetch(url, { headers: { 'accept-encoding': encoding } })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    const again = await serve(broken())
    const curl = Bun.spawn(['curl', '-s', '-o', '/dev/null', '--compressed', again.url], { stderr: 'ignore' })
    expect(await curl.exited).toBeGreaterThan(0)
    expect(ended).toEqual(['Error: broken', 'closed'])
  }
})

test('closes the connection of a client that receives nothing, and of an export that takes too long', async () => {
  const endless = async function* () {
    for (;;) yield 'row\n'.repeat(100_000)
  }
  const { port: stalled, ended } = await serve(endless(), { stall: 200, all: 60_000 })
  const socket = connect(stalled, '127.0.0.1').on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.pause()
  await eventually('the end of the export', () => ended.includes('closed'))
  expect(ended).toEqual(['Error: The client did not receive more within 0.2 s', 'closed'])
  socket.destroy()
  const long = await serve(endless(), { stall: 30_000, all: 300 })
  await expect(fetch(long.url).then((response) => response.text())).rejects.toThrow()
  await eventually('the end of the long export', () => long.ended.includes('closed'))
  expect(long.ended).toEqual(['Error: The client did not receive the file within 0.3 s', 'closed'])
})

test('the cost of an export does not depend on the numbers of tasks', async () => {
  const { id } = await make(ada, '/projects', { name: 'Imported' })
  await make(ada, '/tasks', { projectId: id, title: 'Numbered by another system' })
  await sql`update streams set last_number = 1000000000 where project_id = ${id}`
  const budget = async () => remainingBudget(await ada.get(`/projects/${id}`))
  const before = await budget()
  await exported(ada, id)
  expect(before - (await budget())).toBeWithin(0, 10)
})

test('an export during writes shows one version exactly', async () => {
  let isOver = false
  const writing = (async () => {
    while (!isOver) await make(ada, '/tasks', { projectId, title: 'More', place: 'first' })
  })()
  const answer = await ada.get(`/projects/${projectId}/export`)
  isOver = true
  await writing
  const version = answer.headers.get('docket-version')
  expect(withoutTime(await exported(ada, projectId, `asOf=${version}`))).toBe(withoutTime(answer.text))
})
