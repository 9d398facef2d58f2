import {
  openExportsInProgress,
  openSpool,
  openTemporaryFile,
  requireSpace,
  type Spool,
  type Chunks,
} from '../../modules/exports/spool.ts'

const spooled = async (chunks: Chunks) => openSpool(await openTemporaryFile(), chunks)
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

test.each([true, false])(
  'a reader gets all bytes in order, before the last is written: %p',
  async (isEarly) => {
    const spool = await spooled(numbered())
    if (!isEarly) await spool.filled
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

test('close ends a writer, and a reader that waits for the writer', async () => {
  const ended = Promise.withResolvers<void>()
  const unread = await spooled(numbered(ended.resolve))
  await unread.close()
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

test('no export begins while the files of others have too many bytes', async () => {
  const spool = await spooled(numbered())
  await spool.filled
  expect(() => requireSpace(299_999)).toThrow('try again later')
  requireSpace(300_000)
  await spool.close()
  requireSpace(0)
})

test('places are given in the order of arrival, and an export that waits too long gets 503', async () => {
  const exports = openExportsInProgress()
  const take = (userId: string, maxMs = 10_000) => exports.takePlace({ userId } as never, maxMs)
  const taken = await Promise.all([...'1234'].map((id) => take(id)))
  const order: string[] = []
  const wait = (id: string) => take(id).then((place) => (order.push(id), place))
  const fifth = wait('5')
  await expect(take('6', 1)).rejects.toMatchObject({ status: 503 })
  const seventh = wait('7')
  taken[0]!.release()
  const place = await fifth
  expect(order).toEqual(['5'])
  place.release()
  await seventh
  expect(order).toEqual(['5', '7'])
})
