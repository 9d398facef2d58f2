import { describe, expect, test } from 'bun:test'
import { FairQueue } from '../../src/identity/fair-queue.ts'
import { upTo } from '../races/pair.ts'
import { takeFrom } from '../../src/actor/actors.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { within } from '../../src/within.ts'
import { newId } from '../../src/ids.ts'
import { queuedCommand } from '../support/queued-command.ts'

const bounds = { slots: 1, perAddress: 4, perAccount: 3, total: 6 }

/** A queue whose only slot is in use until `end` is called. `done` lists the work in the order in which it ran. */
function busyQueue(over: Partial<typeof bounds> = {}) {
  const queue = new FairQueue({ ...bounds, ...over })
  const done: string[] = []
  const rejected: string[] = []
  let open = () => {}
  const all = [
    queue.run({ address: 'first', account: 'first' }, () => new Promise<void>((go) => (open = go))),
  ]
  return {
    done,
    rejected,
    add(name: string, address: string, account: string) {
      const work = queue.run({ address, account }, async () => void done.push(name))
      const noted = (error: { status: number; headers: object }) =>
        void rejected.push(`${name} ${error.status} ${JSON.stringify(error.headers)}`)
      all.push(work.catch(noted))
    },
    async end() {
      await null
      open()
      await Promise.all(all)
      return done.join(' ')
    },
  }
}

describe('fair queue', () => {
  test('alternates between addresses, and within an address between accounts', async () => {
    const queue = busyQueue()
    for (const n of upTo(2)) queue.add(`a${n}`, 'a', 'eve')
    queue.add('a-ada', 'a', 'ada')
    queue.add('b', 'b', 'grace')
    expect(await queue.end()).toBe('a1 b a-ada a2')
  })

  test('rejects waiters beyond the limit of an address or account with 429 and Retry-After', async () => {
    const queue = busyQueue({ total: 100 })
    for (const n of upTo(5)) queue.add(`a${n}`, 'a', `invented-${n}`)
    for (const address of ['b', 'c', 'd', 'e']) queue.add(`${address}-eve`, address, 'eve')
    await queue.end()
    const rejected = ['a5', 'e-eve'].map((name) => `${name} 429 {"retry-after":"1"}`)
    expect([queue.rejected, queue.done.length]).toEqual([rejected, 7])
  })

  test('a full queue rejects the newest waiter of the address with the most waiters with 503, and admits the newcomer', async () => {
    const queue = busyQueue()
    for (const n of upTo(4)) queue.add(`a${n}`, 'a', `a${n}`)
    for (const n of upTo(2)) queue.add(`b${n}`, 'b', `b${n}`)
    queue.add('c', 'c', 'ada')
    expect(await queue.end()).toBe('a1 b1 c a2 b2 a3')
    expect(queue.rejected).toEqual(['a4 503 {"retry-after":"1"}'])
  })

  test('a full queue rejects a newcomer if no address has more waiters', async () => {
    const queue = busyQueue({ total: 2 })
    for (const address of ['a', 'b', 'c']) queue.add(address, address, address)
    expect(await queue.end()).toBe('a b')
    expect(queue.rejected).toEqual(['c 503 {"retry-after":"1"}'])
  })

  test('continues after failed work, and removes finished work from memory', async () => {
    const queue = new FairQueue(bounds)
    const by = { address: 'a', account: 'a' }
    const works = upTo(4).map(() => queue.run(by, () => Promise.reject(new Error('no'))))
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    for (const _ of upTo(10)) expect(await queue.run(by, async () => 1)).toBe(1)
    expect(queue.waiting).toBe(0)
  })
})

const projectId = newId()
const commandWith = (preload: QueuedCommand['preload']): QueuedCommand =>
  queuedCommand(newId(), { projectId, preload, decide: () => ({ changes: [], answer: undefined }) })
const reading = () => commandWith({ undo: { seqs: [1], authorize: () => {} } })

function sizes(commands: QueuedCommand[]): number[] {
  const queue = [...commands]
  const taken: QueuedCommand[][] = []
  while (queue.length > 0) taken.push(takeFrom(queue, 512) as QueuedCommand[])
  expect(taken.flat()).toEqual(commands)
  return taken.map(({ length }) => length)
}

test('a batch has at most four commands that read the log, and any number of other commands', () => {
  expect(sizes(Array.from({ length: 10 }, reading))).toEqual([4, 4, 2])
  expect(sizes(Array.from({ length: 50 }, () => commandWith(undefined)))).toEqual([50])
  const mixed = Array.from({ length: 12 }, (_, n) => (n % 2 ? reading() : commandWith(undefined)))
  expect(sizes(mixed)).toEqual([9, 3])
})

const command = (weight?: number) => ({ weight }) as QueuedCommand
const maxWrites = 4

test('a batch contains the next commands in order, up to a limit of writes', () => {
  const all = [command(), command(2), command(), command(), command(3)]
  const queue = [...all]
  expect(takeFrom(queue, maxWrites)).toEqual(all.slice(0, 3))
  expect(takeFrom(queue, maxWrites)).toEqual(all.slice(3))
  expect(takeFrom(queue, maxWrites)).toEqual([])
})

test('a command with more writes than the limit is alone in its batch', () => {
  const [heavy, next] = [command(maxWrites + 1), command()]
  const queue = [heavy, next]
  expect(takeFrom(queue, maxWrites)).toEqual([heavy])
  expect(takeFrom(queue, maxWrites)).toEqual([next])
})

test('exclusive work runs in order, and not in a batch with commands', () => {
  const [before, alone, after] = [command(), { run: async () => {}, since: 0 }, command()]
  const queue = [before, alone, after]
  expect(takeFrom(queue, maxWrites)).toEqual([before])
  expect(takeFrom(queue, maxWrites)).toBe(alone)
  expect(takeFrom(queue, maxWrites)).toEqual([after])
})

test('work after its time limit ends at once, without a warning of the runtime', async () => {
  const warnings: string[] = []
  const listen = ({ name }: Error) => void warnings.push(name)
  process.on('warning', listen)
  expect(await within(-250, new Promise(() => {}))).toBeUndefined()
  await Bun.sleep(1)
  process.off('warning', listen)
  expect(warnings).toEqual([])
})
