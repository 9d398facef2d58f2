import { setImmediate as nextIteration } from 'node:timers/promises'
import { expect, spyOn, test } from 'bun:test'
import type { Permit } from '../../src/admission/fair-queue.ts'
import { Scheduler, writesIn } from '../../src/admission/scheduler.ts'

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

test('the limit ends two seconds after the last request of another account', () => {
  const now = spyOn(performance, 'now').mockReturnValue(1_000)
  for (const [afterMs, most] of [
    [2_000, 16],
    [2_001, 1_000],
  ] as const) {
    const { send, admitted, permits } = openRequests()
    send('bob', 1)
    permits.bob![0]!.release()
    now.mockReturnValue(performance.now() + afterMs)
    send('ada', 1_000)
    expect([afterMs, admitted('ada')]).toEqual([afterMs, most])
  }
  now.mockRestore()
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

test('drops lines of idle accounts, and keeps lines with requests in progress', async () => {
  const scheduler = new Scheduler()
  const busy = await scheduler.acquire('busy')
  for (let n = 0; n < 35_000; n++) (await scheduler.acquire(`account-${n}`)).release()
  const lines = Reflect.get(scheduler, 'lines') as Map<string, unknown>
  expect(lines.size).toBeLessThanOrEqual(10_000)
  expect(lines.get('busy')).toBe(busy.line)
})
