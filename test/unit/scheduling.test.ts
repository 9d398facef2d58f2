import { setImmediate as nextIteration } from 'node:timers/promises'
import { Expensive, ownIteration, runYielding } from '../../src/admission/expensive.ts'
import { FairQueue, Permit } from '../../src/admission/fair-queue.ts'
import { upTo } from '../kit.ts'
import { Scheduler, writesIn } from '../../src/admission/scheduler.ts'

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
  return { run, begun, end: () => ends.shift()?.(), endAll }
}

test('expensive operations run one after another, and accounts take turns', async () => {
  const { run, endAll } = openWork(false)
  const all = [run('ada', 'a1'), run('ada', 'a2'), run('ada', 'a3'), run('bob', 'b1'), run('eve', 'e1')]
  expect(await endAll()).toEqual(['a1', 'a2', 'b1', 'e1', 'a3'])
  await Promise.all(all)
})

test('while other accounts are active, an account pauses after an operation, and other accounts run first', async () => {
  const { run, begun, end, endAll } = openWork(true)
  const all = [run('ada', 'a1'), run('ada', 'a2')]
  // The pause is four times as long as the operation.
  await Bun.sleep(20)
  end()
  all.push(run('bob', 'b1'))
  while (begun.length < 3) {
    await nextIteration()
    if (begun.length > 1) end()
  }
  expect(await endAll()).toEqual(['a1', 'b1', 'a2'])
  await Promise.all(all)
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

/** Opens a scheduler; `send` sends requests, and `permits` has the permits of admitted requests by account. */
function openRequests() {
  const scheduler = new Scheduler()
  const permits: Record<string, Permit[]> = {}
  const send = (account: string, count: number) => {
    const own = (permits[account] ??= [])
    for (let n = 0; n < count; n++) {
      const permit = scheduler.acquire(account)
      if (permit instanceof Promise) void permit.then((one) => own.push(one))
      else own.push(permit)
    }
  }
  const admitted = (account: string) => permits[account]?.length ?? 0
  return { scheduler, permits, send, admitted }
}

test('limits an account to 16 requests in progress while another account is active', () => {
  const { send, admitted } = openRequests()
  send('ada', 1_000)
  expect(admitted('ada')).toBe(1_000)
  send('bob', 1)
  send('eve', 1_000)
  send('bob', 1)
  expect([admitted('eve'), admitted('bob')]).toEqual([16, 2])
})

test('the limit ends two seconds after the last request of another account', async () => {
  const [now, later] = [openRequests(), openRequests()]
  for (const { send, permits } of [now, later]) {
    send('bob', 1)
    permits.bob![0]!.release()
  }
  now.send('ada', 1_000)
  expect(now.admitted('ada')).toBe(16)
  await Bun.sleep(2_100)
  later.send('ada', 1_000)
  expect(later.admitted('ada')).toBe(1_000)
})

test('when requests end, admits waiting requests in order in the next event-loop iteration', async () => {
  const { send, admitted, permits } = openRequests()
  send('bob', 1)
  send('ada', 20)
  await nextIteration()
  for (const permit of permits.ada!.slice(0, 3)) permit.release()
  // A second release must have no effect.
  permits.ada![0]!.release()
  await Promise.resolve()
  expect(admitted('ada')).toBe(16)
  await nextIteration()
  expect(admitted('ada')).toBe(19)
  send('ada', 1)
  expect(admitted('ada')).toBe(19)
})

test('accounts with waiting requests share the slots', async () => {
  const { send, admitted, permits } = openRequests()
  const accounts = ['ada', 'eve', 'joe', 'kim']
  send('bob', 1)
  for (const account of accounts) send(account, 40)
  expect(admitted('ada')).toBe(16)
  await nextIteration()
  for (const account of accounts) for (const permit of permits[account]!.splice(0)) permit.release()
  await nextIteration()
  expect(accounts.map(admitted)).toEqual([4, 4, 4, 4])
})

test('a rejected request keeps its slot for a while, so that a client cannot retry at once', async () => {
  const { scheduler, send, permits, admitted } = openRequests()
  const request = new Request('http://localhost')
  const response = new Response(null, { status: 404 })
  send('bob', 1)
  send('ada', 17)
  for (const permit of permits.ada!) expect(scheduler.reject(request, response, permit)).toBe(response)
  await nextIteration()
  expect(admitted('ada')).toBe(16)
  while (admitted('ada') < 17) await nextIteration()
})

test('rejections without an account share 16 slots, even if no account is active, and do not limit an account', async () => {
  const { scheduler, send, admitted } = openRequests()
  const request = new Request('http://localhost')
  const all = Array.from({ length: 20 }, () => scheduler.reject(request, new Response()))
  expect(all.filter((one) => one instanceof Promise)).toHaveLength(4)
  send('ada', 1_000)
  expect(admitted('ada')).toBe(1_000)
  await Promise.all(all)
})

test('a rejection without an account is sent later if too many of them wait', async () => {
  const { scheduler } = openRequests()
  const large = new Request('http://localhost', { headers: { 'content-length': '1048576' } })
  const response = new Response(null, { status: 401 })
  const [first, ...later] = Array.from({ length: 25 }, () => scheduler.reject(large, response))
  expect(first).toBe(response)
  expect(later.every((one) => one instanceof Promise)).toBe(true)
  expect(new Set(await Promise.all(later))).toEqual(new Set([response]))
})

test("rejects requests beyond an account's queue limit with 429, and still admits other accounts", () => {
  const { scheduler, send } = openRequests()
  send('bob', 1)
  send('ada', 16 + 5_000)
  const error = { status: 429, headers: { 'retry-after': '1' } }
  expect(scheduler.acquire('ada')).rejects.toMatchObject(error)
  expect(scheduler.acquire('bob')).not.toBeInstanceOf(Promise)
})

test('counts a waiting request once for each 4 KiB of its body', () => {
  const { scheduler, send } = openRequests()
  const large = writesIn(new Request('http://localhost', { headers: { 'content-length': '1048576' } }))
  send('bob', 1)
  send('ada', 16)
  for (let n = 0; n < 19; n++) void scheduler.acquire('ada', large)
  expect(scheduler.acquire('ada', large)).rejects.toMatchObject({ status: 429 })
  for (const length of ['', 'x', '-1'])
    expect(writesIn(new Request('http://localhost', { headers: { 'content-length': length } }))).toBe(1)
})

test('a large batch runs when its account has no other requests in progress; smaller batches need only free slots', async () => {
  const { scheduler, send, admitted, permits } = openRequests()
  send('bob', 1)
  send('ada', 3)
  const [first, second, third] = permits.ada!
  expect(first!.grow(1)).toBe(first!)
  expect(first!.grow(4)).toBe(first!)
  const wide = scheduler.acquire('ada', 500)
  expect(wide).toBeInstanceOf(Promise)
  send('ada', 1)
  for (const permit of [first, second, third]) permit!.release()
  expect((await wide).slots).toBe(16)
  expect(admitted('ada')).toBe(3)
  ;(await wide).release()
  await nextIteration()
  expect(admitted('ada')).toBe(4)
})

test('a batch that needs more slots waits for the other requests of its account', async () => {
  const { send, permits } = openRequests()
  send('bob', 1)
  send('ada', 2)
  const [first, second] = permits.ada!
  const [one, other] = [first!.grow(16), second!.grow(16)]
  expect([one instanceof Promise, other instanceof Promise]).toEqual([true, true])
  expect((await one).slots).toBe(16)
  await nextIteration()
  expect(second!.slots).toBe(0)
  first!.release()
  first!.release()
  expect((await other).slots).toBe(16)
})

test('a stuck request loses its slot to another request of its account', async () => {
  const { send, admitted, permits } = openRequests()
  send('bob', 1)
  send('ada', 40)
  const held = permits.ada!.slice(0, 16)
  while (admitted('ada') < 32) await nextIteration()
  for (const permit of held) permit.release()
  await nextIteration()
  // The stuck requests have ended, but their slots were free already.
  expect(admitted('ada')).toBe(32)
})

test('an account keeps its place in the schedule while thousands of other accounts come and go', async () => {
  const { scheduler, send, admitted } = openRequests()
  send('bob', 1)
  send('ada', 16)
  for (let n = 0; n < 35_000; n++) (await scheduler.acquire(`account-${n}`)).release()
  send('ada', 1)
  expect(admitted('ada')).toBe(16)
})
