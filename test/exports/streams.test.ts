import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { respondWithFile, zipped } from '../../modules/exports/spool.ts'
import { createApp, eventually, forFile, holdTransaction, make, openScene, type Person } from '../kit.ts'
import { register, remainingBudget, requestHead, sendRaw, upTo } from '../kit.ts'
import { expectTransactions, exported, linesOf, withoutTime } from './scene.ts'

const { service, ada, sql } = await openScene(['Ada'])
const app = createApp(service.services).listen({ hostname: '127.0.0.1', port: 0 })
await forFile({ stop: () => app.server!.stop(true) })
const { port } = app.server!
const url = `http://127.0.0.1:${port}`

const pathOf = (projectId: string) => `/projects/${projectId}/export`

async function newOwner() {
  const person = await register(service.client)
  const { id: projectId } = await make(person, '/projects', { name: 'P' })
  return { person, projectId, path: pathOf(projectId) }
}

/** Adds tasks of 9.6 KB, which no compression shrinks. An export of 1,000 tasks exceeds what sockets buffer. */
async function fill(projectId: string, count = 1_000) {
  await sql`insert into tasks (id, project_id, number, title, description, status, priority, created_at, updated_at, event_id)
    select uuidv7(), ${projectId}, n, 'Task', (select string_agg(md5(random()::text || n || i), '') from generate_series(1, 300) i),
      'TODO', 'LOW', now(), now(), uuidv7() from generate_series(1, ${count}::int) n`
  await sql`update streams set last_number = ${count} where project_id = ${projectId}`
}

/** Begins an export and receives only its start. */
async function beginSlowly({ token }: Person, path: string): Promise<Socket> {
  const socket = connect(port!, '127.0.0.1')
  socket.write(requestHead('GET', `/api/v1${path}`, { Authorization: `Bearer ${token}` }))
  await new Promise((resolve) => socket.once('data', resolve))
  return socket.pause()
}

const { id: projectId } = await make(ada, '/projects', { name: 'Large' })
await fill(projectId)
const path = pathOf(projectId)
const authorization = `Bearer ${ada.token}`

/** After a disconnect, the export of the account ends soon. */
async function disconnect(socket: Socket) {
  socket.destroy()
  const isOver = async () => (await ada.at(url).get(`${path}?format=csv`)).status === 200
  await eventually('the end of the export', isOver)
}

test('a slow client keeps no transaction, and other exports of its account get 429 at no cost, until its disconnect', async () => {
  const socket = await beginSlowly(ada, path)
  await expectTransactions(sql, 0)
  const budget = async () => remainingBudget(await ada.get(`/projects/${projectId}`))
  const before = await budget()
  for (const other of [path, ...Array<string>(9).fill('/export')]) {
    const answer = await ada.at(url).get(other)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
  }
  expect(before - (await budget())).toBeWithin(0, 22)
  await disconnect(socket)
})

test('clients that read nothing delay no export of other accounts, and get their whole file later', async () => {
  const slow: Socket[] = []
  for (const _ of upTo(6)) {
    const one = await newOwner()
    await fill(one.projectId)
    slow.push(await beginSlowly(one.person, one.path))
  }
  for (const other of [path, '/export']) expect((await ada.at(url).get(other)).status).toBe(200)
  await expectTransactions(sql, 0)
  let [bytes, end] = [0, '']
  slow[0]!.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    end = chunk.subarray(-5).toString()
  })
  slow[0]!.resume()
  await eventually('the end of the file', () => bytes > 9_600_000 && end === '0\r\n\r\n')
  for (const socket of slow) socket.destroy()
})

test('exports that read the database wait for one of four places', async () => {
  const release = await holdTransaction(sql, (tx) => tx`lock table comments`)
  const statuses: number[] = []
  const all = await Promise.all(Array.from({ length: 5 }, newOwner))
  const exporting = all.map(async (one) => statuses.push((await one.person.at(url).get(one.path)).status))
  await expectTransactions(sql, 5)
  expect(statuses).toEqual([])
  await release()
  await Promise.all(exporting)
  expect(statuses).toEqual([200, 200, 200, 200, 200])
  await expectTransactions(sql, 0)
})

test('rejects an export with 503 if no temporary file can be created', async () => {
  const { TMPDIR } = process.env
  process.env.TMPDIR = '/nowhere'
  try {
    const { person, path } = await newOwner()
    for (const one of [path, '/export']) {
      const { status, body } = await person.get(one)
      const message = expect.stringMatching(/^The service cannot store a temporary file/)
      expect([status, body.message]).toEqual([503, message])
    }
    await expectTransactions(sql, 0)
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
})

test('rejects an export with 503 if the disk of temporary files is full', async () => {
  const spool = new URL('../../modules/exports/spool.ts', import.meta.url).pathname
  const script = `import { openTemporaryFile } from '${spool}'
    await openTemporaryFile().catch(({ status, message }) => console.log(status, message))`
  // A file may have 32 KiB, as if the rest of the disk was full.
  const limited = `ulimit -f 64; trap '' XFSZ; exec "$0" -e "$1"`
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, script])
  expect(stdout).toStartWith('503 The service cannot store a temporary file (EFBIG); its operator must')
})

test('the file is the same with and without gzip', async () => {
  const get = (encoding: string) =>
    fetch(`${url}/api/v1${path}`, { headers: { authorization, 'accept-encoding': encoding } })
  const [plain, zipped] = [await get('identity'), await get('gzip')]
  expect([plain.headers.get('content-encoding'), zipped.status]).toEqual([null, 429])
  const whole = await plain.text()
  const lines = linesOf(whole)
  expect(lines.at(-1)).toEqual({ kind: 'end', lines: lines.length })
  expect(lines.filter(({ kind }) => kind === 'task')).toHaveLength(1_000)
  const again = await get('gzip')
  expect(again.headers.get('content-encoding')).toBe('gzip')
  expect(again.headers.get('vary')).toBe('Authorization, Accept-Encoding')
  expect(withoutTime(await again.text())).toBe(withoutTime(whole))
})

test('HEAD returns the content type, also while the account has an export', async () => {
  const socket = await beginSlowly(ada, path)
  const types = {
    [path]: 'application/x-ndjson',
    [`${path}?format=csv`]: 'text/csv',
    '/export': 'application/gzip',
  }
  for (const [one, type] of Object.entries(types)) {
    const { head } = await sendRaw(
      url,
      requestHead('HEAD', `/api/v1${one}`, { Authorization: authorization }),
    )
    expect(head).toStartWith('HTTP/1.1 200')
    expect(head.toLowerCase()).toContain(`content-type: ${type}`)
  }
  await disconnect(socket)
})

async function serve(chunks: AsyncGenerator<string, void, void>, limitMs = { stall: 30_000, all: 60_000 }) {
  const ended: unknown[] = []
  const file = {
    ...{ name: 'x', contentType: 'text/csv', chunks: zipped(chunks) },
    close: (error?: unknown) => void ended.push(...(error ? [String(error)] : []), 'closed'),
  }
  const server = Bun.serve({
    port: 0,
    fetch: (request) => respondWithFile(request, file, limitMs),
    error: () => new Response(null, { status: 500 }),
  })
  await forFile({ stop: () => server.stop(true) })
  const isClosed = () => eventually('the end of the export', () => ended.includes('closed'))
  return { url: `http://127.0.0.1:${server.port}/`, port: server.port!, ended, isClosed }
}

async function* broken() {
  yield randomBytes(1_000_000).toString('hex')
  await Bun.sleep(20)
  throw new Error('broken')
}

test.each(['identity', 'gzip'])(
  'clients detect an error after the start, with the encoding %s',
  async (encoding) => {
    const { url, ended } = await serve(broken())
    const response = await fetch(url, { headers: { 'accept-encoding': encoding } })
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
    expect(ended).toEqual(['Error: broken', 'closed'])
    const again = await serve(broken())
    const curl = Bun.spawn(['curl', '-s', '-o', '/dev/null', '--compressed', again.url], { stderr: 'ignore' })
    expect(await curl.exited).toBeGreaterThan(0)
  },
)

test('closes the connection of a client that receives nothing, and of an export that takes too long', async () => {
  const endless = async function* () {
    for (;;) yield 'row\n'.repeat(100_000)
  }
  const stalled = await serve(endless(), { stall: 200, all: 60_000 })
  const socket = connect(stalled.port, '127.0.0.1').on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.pause()
  await stalled.isClosed()
  expect(stalled.ended).toEqual(['Error: The client did not receive more within 0.2 s', 'closed'])
  socket.destroy()
  const long = await serve(endless(), { stall: 30_000, all: 300 })
  await expect(fetch(long.url).then((response) => response.text())).rejects.toThrow()
  await long.isClosed()
  expect(long.ended).toEqual(['Error: The client did not receive the file within 0.3 s', 'closed'])
})

test('the cost of an export does not depend on the numbers of tasks', async () => {
  const { person, projectId: id } = await newOwner()
  await make(person, '/tasks', { projectId: id, title: 'Numbered by another system' })
  await sql`update streams set last_number = 1000000000 where project_id = ${id}`
  const budget = async () => remainingBudget(await person.get(`/projects/${id}`))
  const before = await budget()
  await exported(person, id)
  expect(before - (await budget())).toBeWithin(0, 10)
})

test('an export during writes shows one version exactly', async () => {
  let isOver = false
  const writing = (async () => {
    while (!isOver) await make(ada, '/tasks', { projectId, title: 'More', place: 'first' })
  })()
  const answer = await ada.get(path)
  isOver = true
  await writing
  const version = answer.headers.get('docket-version')
  expect(withoutTime(await exported(ada, projectId, `asOf=${version}`))).toBe(withoutTime(answer.text))
})
