import { describe, expect, spyOn, test } from 'bun:test'
import { Expensive, runYielding, ownIteration } from '../../src/admission/expensive.ts'
import { FairQueue, Permit } from '../../src/admission/fair-queue.ts'
import { upTo } from '../kit.ts'

const bounds = { what: 'sign-ins', whose: 'from this address' }
const limits = { slots: 1, slotsOfKey: 1, waiting: 6, waitingOfKey: 4 }

/** A queue whose only slot is in use until `end` is called, which returns the names of the work in order. */
function busyQueue(over: Partial<typeof limits> = {}) {
  const queue = new FairQueue({ ...bounds, ...limits, ...over })
  const done: string[] = []
  const rejected: string[] = []
  const first = Promise.withResolvers<void>()
  const all = [queue.run('first', () => first.promise)]
  return {
    done,
    rejected,
    add(name: string, key: string) {
      const work = queue.run(key, async () => void done.push(name))
      const noted = ({ status, message, headers }: Error & { status: number; headers: object }) =>
        void rejected.push(`${name} ${status} ${message} ${JSON.stringify(headers)}`)
      all.push(work.catch(noted))
    },
    async end() {
      await null
      first.resolve()
      await Promise.all(all)
      return done.join(' ')
    },
  }
}

describe('the fair queue', () => {
  test('alternates between addresses', async () => {
    const queue = busyQueue()
    for (const n of upTo(3)) queue.add(`a${n}`, 'a')
    for (const n of upTo(2)) queue.add(`b${n}`, 'b')
    expect(await queue.end()).toBe('a1 b1 a2 b2 a3')
  })

  test('rejects entries beyond the limit of an address with 429 and Retry-After', async () => {
    const queue = busyQueue({ waiting: 100 })
    for (const n of upTo(5)) queue.add(`a${n}`, 'a')
    expect(await queue.end()).toBe('a1 a2 a3 a4')
    expect(queue.rejected).toEqual(['a5 429 Too many sign-ins from this address wait {"retry-after":"1"}'])
  })

  test('if the queue is full, rejects the last entry of the address with the most entries with 503, and admits the newcomer', async () => {
    const queue = busyQueue()
    for (const n of upTo(4)) queue.add(`a${n}`, 'a')
    for (const n of upTo(2)) queue.add(`b${n}`, 'b')
    queue.add('c', 'c')
    expect((await queue.end()).split(' ').sort()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c'])
    expect(queue.rejected).toEqual(['a4 503 Too many sign-ins wait {"retry-after":"1"}'])
  })

  test('if the queue is full, rejects a newcomer if no address has more entries', async () => {
    const queue = busyQueue({ waiting: 2 })
    for (const address of ['a', 'b', 'c']) queue.add(address, address)
    expect(await queue.end()).toBe('a b')
    expect(queue.rejected).toEqual(['c 503 Too many sign-ins wait {"retry-after":"1"}'])
  })

  test('an entry with more slots than an address may have runs alone', async () => {
    const queue = new FairQueue({ ...bounds, ...limits, slots: 4 })
    const large = queue.acquire('a', 3)
    const small = queue.acquire('a')
    expect([large, small].map((one) => one instanceof Permit)).toEqual([true, false])
    ;(large as Permit).release()
    expect(await small).toBeInstanceOf(Permit)
  })

  test('continues after failed work', async () => {
    const queue = new FairQueue({ ...bounds, ...limits })
    const works = upTo(4).map(() => queue.run('a', () => Promise.reject(new Error('no'))))
    expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
    for (const _ of upTo(10)) expect(await queue.run('a', async () => 1)).toBe(1)
  })
})

/** Runs expensive work. Each adds its name to `begun` when it starts, and ends when the test calls its function in `ends`. */
function openWork(isShared: boolean) {
  const expensive = new Expensive(4, { isShared: () => isShared })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const run = (account: string, name: string) =>
    expensive.run(account, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
    })
  /** Ends the work that runs, until no more work starts within some event-loop iterations. */
  const endAll = async () => {
    for (let n = 0; n < 20; n++) {
      ends.shift()?.()
      await new Promise(setImmediate)
    }
    return begun.splice(0)
  }
  return { run, endAll }
}

test('expensive operations run one after another, and accounts take turns', async () => {
  const { run, endAll } = openWork(false)
  const all = [run('ada', 'a1'), run('ada', 'a2'), run('ada', 'a3'), run('bob', 'b1'), run('eve', 'e1')]
  expect(await endAll()).toEqual(['a1', 'a2', 'b1', 'e1', 'a3'])
  await Promise.all(all)
})

test('while other accounts are active, an account pauses for four times the duration of its last operation, and other accounts run first', async () => {
  const timers: [end: () => void, ms?: number][] = []
  const setTimer = spyOn(globalThis, 'setTimeout').mockImplementation(((...timer: [() => void]) =>
    timers.push(timer)) as unknown as typeof setTimeout)
  const now = spyOn(performance, 'now').mockReturnValue(0)
  try {
    const { run, endAll } = openWork(true)
    const all = [run('ada', 'a1'), run('ada', 'a2')]
    await new Promise(setImmediate)
    now.mockReturnValue(20)
    expect(await endAll()).toEqual(['a1'])
    all.push(run('bob', 'b1'))
    expect(await endAll()).toEqual(['b1'])
    // The work of bob took no time, so bob does not pause.
    expect(timers.map(([, ms]) => ms)).toEqual([80])
    timers[0]![0]()
    expect(await endAll()).toEqual(['a2'])
    await Promise.all(all)
  } finally {
    setTimer.mockRestore()
    now.mockRestore()
  }
})

test('accounts take turns in event-loop iterations, so that many messages of one account do not delay another', async () => {
  const order: string[] = []
  const message = (account: string) => ownIteration(account).then(() => order.push(account))
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bea', 'bea'].map(message))
  expect(order).toEqual(['ada', 'ada', 'bea', 'ada', 'bea', 'ada'])
})

test('other work runs between pieces of work, whose results are returned in order', async () => {
  let others = 0
  const other = setInterval(() => others++)
  const work = (name: string) => () => {
    const end = performance.now() + 6
    while (performance.now() < end);
    return name
  }
  expect(await runYielding(['a', 'b', 'c', 'd'].map(work), 'ada')).toEqual(['a', 'b', 'c', 'd'])
  clearInterval(other)
  expect(others).toBeGreaterThan(0)
})
