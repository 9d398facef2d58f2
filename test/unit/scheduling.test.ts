import { expect, spyOn, test } from 'bun:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { Expensive, ownIteration } from '../../src/admission/expensive.ts'
import { FairQueue, Permit, Scheduler, writesIn } from '../../src/admission/fair-queue.ts'
import { readYaml, upTo, words } from '../kit.ts'
import { openPasswords } from '../../src/identity/passwords.ts'

const limits = { what: 'sign-ins', whose: 'from this address', slots: 1, slotsOfKey: 1, waitingOfKey: 4 }

interface Cases {
  fairQueues: [what: string, waiting: number, added: string, order: string, rejections: string][]
  requests: [what: string, steps: string][]
}
const { fairQueues, requests } = readYaml<Cases>('test/unit/queues.yaml')

test.each(fairQueues)('the fair queue %s', async (_, waiting, added, order, rejections) => {
  const queue = new FairQueue({ ...limits, waiting })
  const first = Promise.withResolvers<void>()
  const [done, rejected]: [string[], string[]] = [[], []]
  const all = [queue.run('first', () => first.promise)]
  for (const name of words(added)) {
    const work = queue.run(name[0]!, async () => void done.push(name))
    all.push(
      work.catch(({ status, message, headers }) => {
        expect(headers).toEqual({ 'retry-after': '1' })
        rejected.push(`${name} ${status} ${message}`)
      }),
    )
  }
  await null
  first.resolve()
  await Promise.all(all)
  expect([rejected.join(), order.split(' ').sort()]).toEqual([rejections, [...done].sort()])
  if (!rejections.includes('503')) expect(done.join(' ')).toBe(order)
})

test('an entry with more slots than an address may have runs alone', async () => {
  const queue = new FairQueue({ ...limits, slots: 4 })
  const [large, small] = [queue.acquire('a', 3), queue.acquire('a')]
  expect([large, small].map((one) => one instanceof Permit)).toEqual([true, false])
  ;(large as Permit).release()
  expect(await small).toBeInstanceOf(Permit)
})

test('the fair queue stores no more than 10,000 idle keys, also of rejected work', async () => {
  const queue = new FairQueue({ ...limits, waiting: 1 })
  const first = await queue.acquire('first')
  const second = queue.acquire('second')
  for (const n of upTo(10_100)) await expect(queue.acquire(`key-${n}`)).rejects.toMatchObject({ status: 503 })
  first.release()
  ;(await second).release()
  expect(Reflect.get(queue, 'lines').size).toBeLessThanOrEqual(10_001)
})

test('the fair queue continues after failed work', async () => {
  const queue = new FairQueue(limits)
  const works = upTo(4).map(() => queue.run('a', () => Promise.reject(new Error('no'))))
  expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  for (const _ of upTo(10)) expect(await queue.run('a', async () => 1)).toBe(1)
})

test.each([
  ['accounts take turns', false, 'a1 a2 a3 b1 e1', 'a1 a2 b1 e1 a3'],
  // The pause is four times as long as the operation.
  [
    'and while other accounts are active, an account pauses, and other accounts run first',
    true,
    'a1 a2 b1',
    'a1 b1 a2',
  ],
])('expensive operations run one at a time: %s', async (_, isShared, names, order) => {
  const expensive = new Expensive({ isShared: () => isShared })
  const begun: string[] = []
  let running = 0
  const run = (name: string) =>
    expensive.run(name[0]!, async () => {
      begun.push(name)
      expect(++running).toBe(1)
      if (isShared) await Bun.sleep(20)
      await nextIteration()
      running--
    })
  await Promise.all(words(names).map(run))
  expect(begun.join(' ')).toBe(order)
})

test('accounts take turns in event-loop iterations', async () => {
  const order: string[] = []
  const message = (account: string) => ownIteration(account).then(() => order.push(account))
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bea', 'bea'].map(message))
  expect(order).toEqual(['ada', 'ada', 'bea', 'ada', 'bea', 'ada'])
})

/** Opens a scheduler; `send` sends requests, and `permits` has the permits of the requests in progress by account. */
function openRequests() {
  const scheduler = new Scheduler()
  const permits: Record<string, Permit[]> = {}
  const send = (account: string, count: number) => {
    const own = (permits[account] ??= [])
    for (const _ of upTo(count)) {
      const permit = scheduler.acquire(account)
      if (permit instanceof Promise) void permit.then((one) => own.push(one))
      else own.push(permit)
    }
  }
  const admitted = (account: string) => permits[account]?.length ?? 0
  return { scheduler, permits, send, admitted }
}

/** Another account, Bob, is active. */
function openShared() {
  const opened = openRequests()
  opened.send('bob', 1)
  return opened
}

const request = new Request('http://localhost')
const requestOf = (length: string) =>
  new Request('http://localhost', { headers: { 'content-length': length } })

test.each(requests)('requests in progress: %s', async (_, steps) => {
  const began = performance.now()
  const clock = spyOn(performance, 'now').mockReturnValue(began)
  const { send, admitted, permits } = openRequests()
  for (const step of words(steps)) {
    const [account = '', count = ''] = step.split(/[-+=]/)
    if (step === 'tick') await nextIteration()
    else if (step.endsWith('ms')) clock.mockReturnValue(began + Number.parseInt(step))
    else if (step.includes('+')) send(account, Number(count))
    else if (step.includes('=')) expect([step, admitted(account)]).toEqual([step, Number(count)])
    // A second release must have no effect.
    else for (const one of permits[account]!.splice(0, Number(count))) for (const __ of upTo(2)) one.release()
  }
  clock.mockRestore()
})

test('a rejected request keeps its slot for a while, so that a client cannot retry at once', async () => {
  const { scheduler, send, permits, admitted } = openShared()
  const response = new Response(null, { status: 404 })
  send('ada', 17)
  for (const permit of permits.ada!) expect(scheduler.reject(request, response, permit)).toBe(response)
  await nextIteration()
  expect(admitted('ada')).toBe(16)
  while (admitted('ada') < 17) await nextIteration()
})

test('rejections without an account share 16 slots, and are sent later if too many wait, but limit no account', async () => {
  const { scheduler, send, admitted } = openRequests()
  const all = upTo(20).map(() => scheduler.reject(request, new Response()))
  expect(all.filter((one) => one instanceof Promise)).toHaveLength(4)
  send('ada', 1_000)
  expect(admitted('ada')).toBe(1_000)
  await Promise.all(all)
  const response = new Response(null, { status: 401 })
  const full = new Scheduler()
  const [first, ...later] = upTo(25).map(() => full.reject(requestOf('1048576'), response))
  expect([first, later.every((one) => one instanceof Promise)]).toEqual([response, true])
  expect(new Set(await Promise.all(later))).toEqual(new Set([response]))
})

test("rejects requests beyond an account's queue limit with 429, and still admits other accounts", () => {
  const { scheduler, send } = openShared()
  send('ada', 16 + 5_000)
  expect(scheduler.acquire('ada')).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  expect(scheduler.acquire('bob')).not.toBeInstanceOf(Promise)
})

test('counts a waiting request once for each 4 KiB of its body', () => {
  const { scheduler, send } = openShared()
  const large = writesIn(requestOf('1048576'))
  send('ada', 16)
  for (const _ of upTo(19)) void scheduler.acquire('ada', large)
  expect(scheduler.acquire('ada', large)).rejects.toMatchObject({ status: 429 })
  for (const length of ['', 'x', '-1']) expect(writesIn(requestOf(length))).toBe(1)
})

test('a large batch runs when its account has no other requests in progress; smaller batches need only free slots', async () => {
  const { scheduler, send, admitted, permits } = openShared()
  send('ada', 3)
  const wide = scheduler.acquire('ada', 500)
  expect(wide).toBeInstanceOf(Promise)
  send('ada', 1)
  for (const permit of permits.ada!) permit.release()
  expect((await wide).slots).toBe(16)
  expect(admitted('ada')).toBe(3)
  ;(await wide).release()
  await nextIteration()
  expect(admitted('ada')).toBe(4)
})

test('a batch that needs more slots waits for the other requests of its account', async () => {
  const { scheduler, send, permits } = openShared()
  send('ada', 2)
  const [first, second] = permits.ada!
  let isSecondAdmitted = false
  const again = (permit: Permit) => {
    permit.release()
    return scheduler.acquire('ada', 16 * 32)
  }
  const [one, other] = [again(first!), again(second!)]
  expect([one instanceof Promise, other instanceof Promise]).toEqual([true, true])
  void Promise.resolve(other).then(() => (isSecondAdmitted = true))
  expect((await one).slots).toBe(16)
  await nextIteration()
  expect(isSecondAdmitted).toBeFalse()
  for (const _ of upTo(2)) (await one).release()
  expect((await other).slots).toBe(16)
})

test('an account is alone among 10,000 idle accounts too', () => {
  const { send, admitted, permits } = openRequests()
  const clock = spyOn(performance, 'now').mockReturnValue(0)
  for (const n of upTo(10_001)) {
    send(`account-${n}`, 1)
    permits[`account-${n}`]![0]!.release()
  }
  clock.mockReturnValue(10_000)
  for (const _ of upTo(2)) {
    send('ada', 1)
    permits.ada!.pop()!.release()
  }
  send('ada', 100)
  clock.mockRestore()
  expect(admitted('ada')).toBe(100)
})

test('a stuck request loses its slot to another request of its account', async () => {
  const { send, admitted } = openShared()
  send('ada', 40)
  while (admitted('ada') < 32) await nextIteration()
})

test('an account keeps its place in the schedule while thousands of other accounts come and go', async () => {
  const { scheduler, send, admitted } = openShared()
  send('ada', 16)
  for (const n of upTo(35_000)) (await scheduler.acquire(`account-${n}`)).release()
  send('ada', 1)
  expect(admitted('ada')).toBe(16)
})

test('password checks of one address do not delay those of another address', async () => {
  const checked: string[] = []
  const verify = async (_: unknown, password: unknown) => {
    checked.push(String(password))
    await Bun.sleep(0)
    return true
  }
  const { matches } = openPasswords({ hash: async () => '', verify })
  const many = upTo(60).map(() => matches('many', 'hash', '10.0.0.1'))
  await Promise.all([...many, matches('other', 'hash', '10.0.0.2')])
  expect(checked.indexOf('other')).toBeLessThan(60)
})
