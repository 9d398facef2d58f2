import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { closeOnError, startupMessageFirst, withoutHoles } from '../../src/postgres/workarounds.ts'
import { Elysia } from 'elysia'
import postgres from 'postgres'
import { eventually, forFile, freshDatabase, listen } from '../kit.ts'

const listening = async (server: Server) => (await listen(server)).port

function endOf(socket: Socket): Promise<string[]> {
  const emitted: string[] = []
  closeOnError(socket)
  return new Promise((resolve) => {
    socket.on('error', (error: Error & { code?: string }) => {
      emitted.push(`error ${error.code}`)
      queueMicrotask(() => emitted.push('error handler'))
      setTimeout(resolve, 50, emitted)
    })
    socket.on('close', (hadError) => emitted.push(`close ${hadError}`))
  })
}

test('a broken connection is closed before an error handler can react', async () => {
  const server = createServer(
    (peer) => void peer.on('data', () => peer.resetAndDestroy()).on('error', () => {}),
  )
  const socket = connect(await listening(server), '127.0.0.1')
  socket.on('connect', () => socket.write('x'))
  expect(await endOf(socket)).toEqual(['error ECONNRESET', 'close true', 'error handler'])
  server.close()
})

test('a refused connection emits its error and then closes', async () => {
  const emitted = await endOf(new Socket().connect(1, '127.0.0.1'))
  expect(emitted).toEqual(['error ECONNREFUSED', 'close true', 'error handler'])
})

test('a connection that ends without a message fails', async () => {
  const server = createServer((peer) => void peer.end())
  const socket = connect(await listening(server), '127.0.0.1')
  socket.resume()
  expect(await endOf(socket)).toEqual(['error CONNECTION_CLOSED', 'close true', 'error handler'])
  server.close()
})

test('sends a startup message without the unsent data of the previous connection, and sends everything else unchanged', async () => {
  const greeting = Buffer.from('\0\0\0\x29\0\x03\0\0user\0ada\0database\0docket\0\0', 'latin1')
  const received: Buffer[] = []
  const done = Promise.withResolvers<void>()
  const server = createServer((peer) => {
    peer.on('data', (chunk: Buffer) => received.push(chunk)).on('end', done.resolve)
    peer.on('error', () => {})
  })
  const socket = connect(await listening(server), '127.0.0.1')
  startupMessageFirst(socket)
  socket.write(Buffer.concat([Buffer.from('B…E…S'), greeting]))
  socket.end(Buffer.from('B…E…S'))
  await done.promise
  expect(Buffer.concat(received)).toEqual(Buffer.concat([greeting, Buffer.from('B…E…S')]))
  server.close()
})

test('removes empty array slots at the start of a result', () => {
  const rows = [1, 2]
  rows.length = 4
  rows.reverse()
  expect(withoutHoles(rows)).toEqual([2, 1])
  expect(withoutHoles([])).toEqual([])
})

const soonMs = 300
const fresh = await forFile(freshDatabase())
const isOpen = (work: PromiseLike<unknown>) =>
  Promise.race([
    work.then(
      () => false,
      () => false,
    ),
    Bun.sleep(soonMs).then(() => true),
  ])

const greeted = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')

const refused = Buffer.from('E\0\0\0\x0cSERROR\0\0Z\0\0\0\x05I', 'latin1')

async function played(server: Server, options: postgres.Options<{}> = {}): Promise<postgres.Sql> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await forFile({ close: () => void server.close() })
  const few = { host: '127.0.0.1', port, max: 1, fetch_types: false, connect_timeout: 2 }
  const sql = postgres({ ...few, ...options })
  await forFile({ close: () => sql.end({ timeout: 0 }) })
  return sql
}

test('postgres.js keeps the row count of an interrupted result (porsager/postgres#1181)', async () => {
  const sql = await forFile(postgres(fresh.url, { max: 1, fetch_types: false }))
  await sql`select 1 / (3 - n) from generate_series(1, 5) n`.catch(() => {})
  const rows = await sql`select 1 as one`
  expect(0 in rows).toBeFalse()
})

test('postgres.js reconnects without a pause if a connection ends before its greeting (porsager/postgres#1193)', async () => {
  let count = 0
  const sql = await played(
    createServer((peer) => {
      count++
      peer.on('error', () => {}).on('data', () => peer.end())
    }),
  )
  sql`select 1`.catch(() => {})
  await eventually('more connections than pauses would allow', () => count > 10)
})

/** Opens a connection with an unanswered query. The test emits the `close` event of its socket. */
async function held() {
  const peers: Socket[] = []
  const connection = { socket: new Socket(), greetings: 0, received: 0 }
  const server = createServer((peer) => {
    peers.push(peer)
    peer.on('error', () => {}).on('data', () => void connection.received++)
    peer.once('data', () => {
      connection.greetings++
      peer.write(greeted)
    })
  })
  const socket = async ({ port: [port] }: { port: number[] }) =>
    (connection.socket = new Socket().connect(port!, '127.0.0.1'))
  const sql = await played(server, { socket } as postgres.Options<{}>)
  const first = sql`select 1`.execute()
  first.catch(() => {})
  await eventually('the query', () => connection.received > 1)
  return { connection, sql, peers, first }
}

test('postgres.js never answers a query sent between the error and the close of a connection (porsager/postgres#1215)', async () => {
  const { connection, sql, first } = await held()
  let second: Promise<unknown> = Promise.resolve()
  first.catch(() => void (second = sql`select 2`.execute()))
  connection.socket.emit('error', new Error('reset'))
  await Bun.sleep(50)
  connection.socket.emit('close', true)
  connection.socket.destroy()
  expect(await isOpen(second)).toBeTrue()
})

test('postgres.js sends no startup message if a broken connection left unsent data (porsager/postgres#1133)', async () => {
  const { connection, sql, peers, first } = await held()
  for (const peer of peers) peer.write(refused)
  await first.catch(() => {})
  sql`select 2`.execute().catch(() => {})
  // In these microtasks the query is written to the buffer, which is sent after the current tick.
  for (let step = 0; step < 5; step++) await null
  connection.socket.emit('close', true)
  connection.socket.destroy()
  sql`select 3`.execute().catch(() => {})
  await Bun.sleep(soonMs)
  expect(connection.greetings).toBe(1)
})

test('Elysia parses a body before it authenticates the caller', async () => {
  const app = new Elysia()
    .derive(() => {
      throw new Error('Who are you?')
    })
    .onError(({ code }) => new Response(String(code)))
    .post('/', ({ body }) => body)
  const headers = { 'content-type': 'application/json' }
  const answer = await app.handle(new Request('http://localhost/', { method: 'POST', headers, body: '{' }))
  expect(await answer.text()).toBe('PARSE')
})
