import { connect, createServer, type Server, Socket } from 'node:net'
import postgres from 'postgres'
import { closeOnError, startupMessageFirst, withoutHoles } from '../../src/postgres/workarounds.ts'
import { withoutLateEnd } from '../../src/postgres/workarounds.ts'
import { eventually, forFile, freshDatabase, listen, openTcpProxyTo } from '../kit.ts'

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
test('a connection that breaks within a transaction rejects the transaction, and sends no rollback', async () => {
  const line = await forFile(openTcpProxyTo(fresh.url, { intercept: () => false }))
  const sockets: Socket[] = []
  const socket = async () => {
    const one = new Socket().connect(Number(new URL(line.url).port), '127.0.0.1')
    closeOnError(one)
    sockets.push(one)
    return one
  }
  const options = { max: 1, fetch_types: false, socket } as postgres.Options<{}>
  const sql = withoutLateEnd(postgres(line.url, options))
  await forFile({ close: () => sql.end({ timeout: 0 }) })
  const ended = sql.begin(async (tx) => {
    const [first, second] = [tx`select pg_sleep(60)`, tx`select 1`]
    await eventually('the first query', async () => sockets.length === 1)
    setTimeout(line.cut, soonMs)
    await Promise.all([first, second])
  })
  expect(await ended.catch(({ code }: { code: string }) => code)).toBe('CONNECTION_CLOSED')
  await Bun.sleep(soonMs)
  expect(sockets).toHaveLength(1)
})

test('a transaction whose work fails is rolled back', async () => {
  const sql = withoutLateEnd(await forFile(postgres(fresh.url, { max: 1, fetch_types: false })))
  await sql`create table rolled_back (n int)`
  const work = sql.begin(async (tx) => {
    await tx`insert into rolled_back values (1)`
    throw new Error('failed')
  })
  await expect(work).rejects.toThrow('failed')
  expect(await sql`select from rolled_back`).toHaveLength(0)
  expect(await sql.begin((tx) => tx`select 1 as one`)).toEqual([{ one: 1 }] as never)
})
