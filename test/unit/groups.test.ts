import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { grouped, type GroupOptions } from '../../src/postgres/grouped.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { takeGroup } from '../../src/actor/actors.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { within } from '../../src/waits.ts'
import { newId } from '../kit.ts'
import { queuedCommand } from '../support/queued-command.ts'

function byHand(limits: GroupOptions<number>) {
  const calls: number[][] = []
  const ends: PromiseWithResolvers<number[]>[] = []
  const call = grouped(limits, (keys: number[]) => {
    calls.push(keys)
    const end = Promise.withResolvers<number[]>()
    ends.push(end)
    return end.promise
  })
  const finish = async (n: number) => {
    ends[n]!.resolve(calls[n]!.map((key) => key * 10))
    await turn()
  }
  const fail = async (n: number, error: Error) => {
    ends[n]!.reject(error)
    await turn()
  }
  const callAll = async (keys: number[]) => {
    const answers = keys.map(call)
    await turn()
    return answers
  }
  return { call, callAll, calls, finish, fail }
}

/** The clock stands still, because a pause of the process would look like a slow call or a long wait. */
const began = performance.now()
let clock: { mockReturnValue(ms: number): unknown; mockRestore(): void }

/** The first call of a group begins in the next iteration of the event loop. */
const turn = () => setImmediate()

describe('grouped', () => {
  beforeEach(() => void (clock = spyOn(performance, 'now').mockReturnValue(began)))

  afterEach(() => clock.mockRestore())

  test('all keys of one event-loop iteration share one call, and each caller gets its own result', async () => {
    const { callAll, calls, finish } = byHand({ keys: 10, slots: 1 })
    const answers = Promise.all(await callAll([3, 1, 2]))
    expect(calls).toEqual([[3, 1, 2]])
    await finish(0)
    expect(await answers).toEqual([30, 10, 20])
  })

  test('limits the number of keys in a call, and keeps the order of arrival', async () => {
    const { callAll, calls, finish } = byHand({ keys: 2, slots: 1 })
    const answers = Promise.all(await callAll([1, 2, 3, 4, 5]))
    for (const n of [0, 1, 2]) await finish(n)
    expect(calls).toEqual([[1, 2], [3, 4], [5]])
    expect(await answers).toEqual([10, 20, 30, 40, 50])
  })

  test('collects keys while all slots are in use, and sends them together', async () => {
    const { callAll, calls, finish } = byHand({ keys: 10, slots: 2 })
    const answers: Promise<number>[] = []
    for (const key of [1, 2, 3, 4, 5]) answers.push(...(await callAll([key])))
    expect(calls).toEqual([[1], [2]])
    await finish(1)
    expect(calls).toEqual([[1], [2], [3, 4, 5]])
    await finish(2)
    await finish(0)
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 40, 50])
  })

  test('uses all slots concurrently if the keys do not fit into one call', async () => {
    const { callAll, calls, finish } = byHand({ keys: 2, slots: 3 })
    const answers = Promise.all(await callAll([1, 2, 3, 4, 5, 6, 7]))
    expect(calls).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ])
    for (const n of [2, 3, 0, 1]) await finish(n)
    expect(calls[3]).toEqual([7])
    expect(await answers).toEqual([10, 20, 30, 40, 50, 60, 70])
  })

  test('limits the total weight of a call, and sends a key above the limit in a call of its own', async () => {
    const { callAll, calls, finish } = byHand({ keys: 10, slots: 1, weigh: { limit: 10, of: (key) => key } })
    const answers = Promise.all(await callAll([4, 6, 1, 25, 3, 3, 3, 3]))
    for (const n of [0, 1, 2, 3, 4]) await finish(n)
    expect(calls).toEqual([[4, 6], [1], [25], [3, 3, 3], [3]])
    expect(await answers).toEqual([40, 60, 10, 250, 30, 30, 30, 30])
  })

  test('waits for a call in progress, unless the call contains a heavy key', async () => {
    const weigh = { limit: 100, heavy: 10, of: (key: number) => key }
    const { callAll, calls, finish } = byHand({ keys: 10, slots: 3, weigh, lingerMs: 60_000 })
    const answers: Promise<number>[] = []
    for (const key of [50, 1, 2]) answers.push(...(await callAll([key])))
    expect(calls).toEqual([[50], [1]])
    await finish(1)
    expect(calls).toEqual([[50], [1], [2]])
    for (const n of [0, 2]) await finish(n)
    expect(await Promise.all(answers)).toEqual([500, 10, 20])
  })

  test('a failed call rejects all its callers and no others, and frees its slot', async () => {
    const { callAll, calls, finish, fail } = byHand({ keys: 2, slots: 1 })
    const settled = Promise.allSettled(await callAll([1, 2, 3]))
    const error = new Error('the database went away')
    await fail(0, error)
    expect(calls).toEqual([[1, 2], [3]])
    await finish(1)
    expect(await settled).toEqual([
      { status: 'rejected', reason: error },
      { status: 'rejected', reason: error },
      { status: 'fulfilled', value: 30 },
    ])
  })

  test('if a call fails quickly, waiting callers send the next call; if a call fails after seconds, waiting callers fail too', async () => {
    const { call, callAll, calls, finish, fail } = byHand({ keys: 1, slots: 1 })
    const error = connectionError('QUERY_TIMEOUT', 'no answer')
    const first = Promise.allSettled(await callAll([1, 2]))
    await fail(0, error)
    expect(calls).toEqual([[1], [2]])
    const second = Promise.allSettled([3, 4].map(call))
    clock.mockReturnValue(began + 2_000)
    await fail(1, error)
    const refused = { status: 'rejected', reason: error } as const
    expect(await first).toEqual([refused, refused])
    expect(await second).toEqual([refused, refused])
    const [last] = await callAll([5])
    await finish(2)
    expect(await last).toBe(50)
  })

  test('a synchronous exception rejects the caller like any other error', async () => {
    const call = grouped({ keys: 2, slots: 1 }, (): Promise<number[]> => {
      throw new Error('never begun')
    })
    await expect(call(1)).rejects.toThrow('never begun')
    await expect(call(2)).rejects.toThrow('never begun')
  })

  test('returns a result to each of two callers with the same key', async () => {
    const { callAll, calls, finish } = byHand({ keys: 10, slots: 1 })
    const answers = Promise.all(await callAll([1, 1]))
    expect(calls).toEqual([[1, 1]])
    await finish(0)
    expect(await answers).toEqual([10, 10])
  })

  test('starts a second call only when the first call ends or takes too long', async () => {
    const { call, callAll, calls, finish } = byHand({ keys: 10, slots: 2, lingerMs: 50 })
    const answers = [...(await callAll([1])), ...(await callAll([2]))]
    expect(calls).toEqual([[1]])
    await finish(0)
    expect(calls).toEqual([[1], [2]])
    answers.push(call(3))
    clock.mockReturnValue(began + 50)
    while (calls.length < 3) await turn()
    await finish(2)
    await finish(1)
    expect(await Promise.all(answers)).toEqual([10, 20, 30])
  })

  test('starts a full call without waiting for the call in progress', async () => {
    const { callAll, calls, finish } = byHand({ keys: 2, slots: 2, lingerMs: 60_000 })
    const answers = Promise.all(await callAll([1, 2, 3, 4, 5, 6]))
    expect(calls).toEqual([
      [1, 2],
      [3, 4],
    ])
    await finish(0)
    await finish(1)
    await finish(2)
    expect(await answers).toEqual([10, 20, 30, 40, 50, 60])
  })

  test('rejects keys beyond 10,000 waiting keys', async () => {
    const keys = Array.from({ length: 10_002 }, (_, n) => n)
    const { call, callAll, finish } = byHand({ keys: 20_000, slots: 1 })
    const [first] = await callAll([0])
    const rest = Promise.allSettled(keys.map(call))
    await finish(0)
    await finish(1)
    expect(await first).toBe(0)
    expect((await rest).filter(({ status }) => status === 'rejected')).toHaveLength(2)
  })
})

const projectId = newId()
const commandWith = (preload: QueuedCommand['preload']): QueuedCommand =>
  queuedCommand(newId(), { projectId, preload, decide: () => ({ changes: [], answer: undefined }) })
const reading = () => commandWith({ undo: { seqs: [1], authorize: () => {} } })

function sizes(commands: QueuedCommand[]): number[] {
  const queue = [...commands]
  const taken: QueuedCommand[][] = []
  while (queue.length > 0) taken.push(takeGroup(queue, 512) as QueuedCommand[])
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
  expect(takeGroup(queue, maxWrites)).toEqual(all.slice(0, 3))
  expect(takeGroup(queue, maxWrites)).toEqual(all.slice(3))
  expect(takeGroup(queue, maxWrites)).toEqual([])
})

test('a command with more writes than the limit is alone in its batch', () => {
  const [heavy, next] = [command(maxWrites + 1), command()]
  const queue = [heavy, next]
  expect(takeGroup(queue, maxWrites)).toEqual([heavy])
  expect(takeGroup(queue, maxWrites)).toEqual([next])
})

test('exclusive work runs in order, and not in a batch with commands', () => {
  const [before, alone, after] = [command(), { run: async () => {}, since: 0 }, command()]
  const queue = [before, alone, after]
  expect(takeGroup(queue, maxWrites)).toEqual([before])
  expect(takeGroup(queue, maxWrites)).toBe(alone)
  expect(takeGroup(queue, maxWrites)).toEqual([after])
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
