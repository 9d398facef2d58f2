import { setTimeout as sleep } from 'node:timers/promises'
import { Places } from '../../modules/exports/transaction.ts'
import { Spool } from '../../modules/exports/spool.ts'

const calm = { isWanted: false }
const bytesOf = (n: number) => new Uint8Array(1_000).fill(n)

async function* numbered(count: number, onEnd = () => {}) {
  try {
    for (let n = 0; n < count; n++) yield bytesOf(n % 251)
  } finally {
    onEnd()
  }
}

async function readAll(spool: Spool): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const chunk of spool.chunks()) parts.push(chunk as Uint8Array)
  return Buffer.concat(parts)
}

const whole = (count: number) => Buffer.concat(Array.from({ length: count }, (_, n) => bytesOf(n % 251)))

test('a reader gets all bytes in order, also if the file is ahead of it by a limited number of bytes', async () => {
  for (const aheadBytes of [700, 2_500, 1_000_000]) {
    const spool = await Spool.open(calm, { aheadBytes })
    void spool.fill(numbered(300))
    expect(Buffer.from(await readAll(spool)).equals(whole(300))).toBeTrue()
    await spool.close()
  }
})

test('a writer that is not bounded ends without a reader', async () => {
  const spool = await Spool.open(calm, { aheadBytes: Infinity })
  await spool.fill(numbered(300))
  expect(Buffer.from(await readAll(spool)).equals(whole(300))).toBeTrue()
  await spool.close()
})

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
  void full.fill(numbered(300, ended.resolve))
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
  expect((await read).length).toBe(0)
  silent.resolve()
  await closed
})

test('a writer that has waited too long for its client ends when another export waits for a place', async () => {
  const places = new Places(1)
  const free = await places.take(1_000)
  const spool = await Spool.open(places, { aheadBytes: 1_500, heldMs: 20 })
  const filled = spool.fill(numbered(300)).finally(free)
  const chunks = spool.chunks()
  await chunks.next()
  await sleep(50)
  const next = places.take(60_000)
  await expect(
    (async () => {
      for await (const _ of chunks);
    })(),
  ).rejects.toThrow('The client receives the file too slowly while other exports wait')
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
