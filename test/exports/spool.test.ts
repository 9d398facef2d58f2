import { setTimeout as sleep } from 'node:timers/promises'
import { Places } from '../../modules/exports/transaction.ts'
import { Spool } from '../../modules/exports/spool.ts'

const calm = { isWanted: false }
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
    const spool = await Spool.open(calm, { aheadBytes })
    const filled = spool.fill(numbered())
    // A writer that is not bounded ends without a reader.
    if (aheadBytes > whole.length) await filled
    expect((await readAll(spool)).equals(whole)).toBeTrue()
    await spool.close()
  },
)

test('a reader gets the error of the writer', async () => {
  const spool = await Spool.open(calm)
  async function* broken() {
    yield bytesOf(1)
    throw new Error('broken')
  }
  await spool.fill(broken())
  await expect(readAll(spool)).rejects.toThrow('broken')
  await spool.close()
})

test('close ends a writer that waits for its client, and a reader that waits for the writer', async () => {
  const ended = Promise.withResolvers<void>()
  const full = await Spool.open(calm, { aheadBytes: 1_500 })
  void full.fill(numbered(ended.resolve))
  await full.close()
  await ended.promise
  const silent = Promise.withResolvers<void>()
  async function* waiting() {
    await silent.promise
    yield bytesOf(1)
  }
  const empty = await Spool.open(calm)
  void empty.fill(waiting())
  const read = readAll(empty)
  const closed = empty.close()
  expect(await read).toHaveLength(0)
  silent.resolve()
  await closed
})

test('a writer that has waited too long for its client ends when another export waits for a place', async () => {
  const places = new Places(1)
  const free = await places.take(1_000)
  const spool = await Spool.open(places, { aheadBytes: 1_500, heldMs: 20 })
  const filled = spool.fill(numbered()).finally(free)
  const chunks = spool.chunks()
  await chunks.next()
  await sleep(50)
  const next = places.take(60_000)
  const message = 'The client receives the file too slowly while other exports wait'
  await expect(Array.fromAsync(chunks)).rejects.toThrow(message)
  await filled
  ;(await next)()
  expect(places.isWanted).toBeFalse()
  await spool.close()
})

test('places are given in the order of arrival, and an export that waits too long gets 503', async () => {
  const places = new Places(2)
  const [first] = [await places.take(1), await places.take(1)]
  const order: string[] = []
  const wait = (name: string) => places.take(60_000).then((free) => (order.push(name), free))
  const [second, third] = [wait('second'), wait('third')]
  await expect(places.take(1)).rejects.toMatchObject({ status: 503 })
  first()
  // Freeing a place twice frees one place.
  first()
  const free = await second
  expect([order, places.isWanted]).toEqual([['second'], true])
  free()
  await third
  expect([order, places.isWanted]).toEqual([['second', 'third'], false])
})
