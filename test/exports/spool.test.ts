import { setTimeout as sleep } from 'node:timers/promises'
import { openExportsInProgress, openTemporaryFile, Spool, type Chunks } from '../../modules/exports/spool.ts'

const calm = { isWanted: () => false }
type Options = ConstructorParameters<typeof Spool>[2]
const spooled = async (chunks: Chunks, options: Options = calm) =>
  new Spool(await openTemporaryFile(), chunks, options)
const bytesOf = (n: number) => new Uint8Array(1_000).fill(n % 251)
const whole = Buffer.concat(Array.from({ length: 300 }, (_, n) => bytesOf(n)))

async function* numbered(onEnd = () => {}) {
  try {
    for (let n = 0; n < 300; n++) yield bytesOf(n)
  } finally {
    onEnd()
  }
}

async function readAll(spool: Spool): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of spool.chunks()) parts.push(chunk as Uint8Array)
  return Buffer.concat(parts)
}

test.each([700, 2_500, 1_000_000, Infinity])(
  'a reader gets all bytes in order if the file may be ahead of it by %d bytes',
  async (aheadBytes) => {
    const spool = await spooled(numbered(), { ...calm, aheadBytes })
    // A writer that is not bounded ends without a reader.
    if (aheadBytes > whole.length) await spool.filled
    expect((await readAll(spool)).equals(whole)).toBeTrue()
    await spool.close()
  },
)

test('a reader gets the error of the writer', async () => {
  async function* broken() {
    yield bytesOf(1)
    throw new Error('broken')
  }
  const spool = await spooled(broken())
  await spool.filled
  await expect(readAll(spool)).rejects.toThrow('broken')
  await spool.close()
})

test('close ends a writer that waits for its client, and a reader that waits for the writer', async () => {
  const ended = Promise.withResolvers<void>()
  const full = await spooled(numbered(ended.resolve), { ...calm, aheadBytes: 1_500 })
  await full.close()
  await ended.promise
  const silent = Promise.withResolvers<void>()
  async function* waiting() {
    await silent.promise
    yield bytesOf(1)
  }
  const empty = await spooled(waiting())
  const read = readAll(empty)
  const closed = empty.close()
  expect(await read).toHaveLength(0)
  silent.resolve()
  await closed
})

const placesOf = (exports: ReturnType<typeof openExportsInProgress>, userId: string, maxMs?: number) =>
  exports.placesOf({ userId } as never, maxMs)

test('a writer that has waited too long for its client ends when another export waits for a place', async () => {
  const exports = openExportsInProgress()
  const taken = await Promise.all([...'1234'].map((id) => placesOf(exports, id).take()))
  const { isWanted } = placesOf(exports, '1')
  const spool = await spooled(numbered(), { isWanted, aheadBytes: 1_500, heldMs: 20 })
  const chunks = spool.chunks()
  await chunks.next()
  await sleep(50)
  const next = placesOf(exports, '5').take()
  const message = 'The client receives the file too slowly while other exports wait'
  await expect(Array.fromAsync(chunks)).rejects.toThrow(message)
  await spool.filled
  taken[0]!.release()
  await next
  expect(isWanted()).toBeFalse()
  await spool.close()
})

test('places are given in the order of arrival, and an export that waits too long gets 503', async () => {
  const exports = openExportsInProgress()
  const taken = await Promise.all([...'1234'].map((id) => placesOf(exports, id).take()))
  const { isWanted } = placesOf(exports, '1')
  const order: string[] = []
  const wait = (id: string) =>
    placesOf(exports, id)
      .take()
      .then((place) => (order.push(id), place))
  const fifth = wait('5')
  await expect(placesOf(exports, '6', 1).take()).rejects.toMatchObject({ status: 503 })
  const seventh = wait('7')
  taken[0]!.release()
  const place = await fifth
  expect([order, isWanted()]).toEqual([['5'], true])
  place.release()
  await seventh
  expect([order, isWanted()]).toEqual([['5', '7'], false])
})
