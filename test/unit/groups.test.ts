import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { grouped, type GroupOptions } from '../../src/postgres/grouped.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { takeGroup } from '../../src/actor/actors.ts'
import type { QueuedCommand } from '../../src/actor/decide-group.ts'
import { readYaml, upTo, words } from '../kit.ts'

/** The clock stands still, because a pause of the process would look like a slow call or a long wait. */
const began = performance.now()
let clock: { mockReturnValue(ms: number): unknown; mockRestore(): void }
/** The first call of a group begins in the next iteration of the event loop. */
const turn = () => setImmediate()

beforeEach(() => void (clock = spyOn(performance, 'now').mockReturnValue(began)))
afterEach(() => clock.mockRestore())

/** Calls whose results, the keys times ten, arrive when the test calls `finish`. */
function openGroup(limits: GroupOptions<number>) {
  const calls: number[][] = []
  const ends: PromiseWithResolvers<number[]>[] = []
  const call = grouped(limits, (keys: number[]) => {
    calls.push(keys)
    const end = Promise.withResolvers<number[]>()
    ends.push(end)
    return end.promise
  })
  const finish = async (n: number, error?: Error) => {
    if (error) ends[n]!.reject(error)
    else ends[n]!.resolve(calls[n]!.map((key) => key * 10))
    await turn()
  }
  return { call, calls, finish }
}

interface Limits extends GroupOptions<number> {
  weight?: [limit: number, heavy?: number]
}
const { groups } = readYaml<{ groups: [string, Limits, string, string][] }>('test/unit/queues.yaml')

test.each(groups)(
  '%s, and each caller gets its own result',
  async (_, { weight, ...limits }, steps, expected) => {
    const [limit = 0, heavy] = weight ?? []
    const weigh = weight && { limit, heavy, of: (key: number) => key }
    const { call, calls, finish } = openGroup({ ...limits, weigh })
    const answers: [number, Promise<number>][] = []
    for (const step of words(steps)) {
      if (step.startsWith('end')) await finish(Number(step.slice(3)))
      else for (const key of step.split(',').map(Number)) answers.push([key, call(key)])
      await turn()
    }
    expect(calls.map(String).join(' ')).toBe(expected)
    for (let n = 0; n < calls.length; n++) await finish(n)
    for (const [key, answer] of answers) expect(await answer).toBe(10 * key)
  },
)

test('starts a second call only when the first call ends or takes too long', async () => {
  const { call, calls, finish } = openGroup({ keys: 10, slots: 2, lingerMs: 50 })
  const answers = [call(1)]
  await turn()
  answers.push(call(2))
  await turn()
  expect(calls).toEqual([[1]])
  await finish(0)
  expect(calls).toEqual([[1], [2]])
  answers.push(call(3))
  clock.mockReturnValue(began + 50)
  while (calls.length < 3) await turn()
  for (const n of [2, 1]) await finish(n)
  expect(await Promise.all(answers)).toEqual([10, 20, 30])
})

test('a failed call rejects only its callers, but after a temporary error of seconds all waiting callers', async () => {
  const { call, calls, finish } = openGroup({ keys: 2, slots: 1 })
  const settled = Promise.allSettled([1, 2, 3].map(call))
  const error = connectionError('QUERY_TIMEOUT', 'no answer')
  await turn()
  await finish(0, error)
  expect(calls).toEqual([[1, 2], [3]])
  const waiting = Promise.allSettled([4, 5, 6].map(call))
  clock.mockReturnValue(began + 2_000)
  await finish(1, error)
  const rejected = { status: 'rejected', reason: error } as const
  expect(await settled).toEqual([rejected, rejected, rejected])
  expect(await waiting).toEqual([rejected, rejected, rejected])
  const last = call(5)
  await turn()
  await finish(2)
  expect(await last).toBe(50)
  const throwing = grouped({ keys: 2, slots: 1 }, (): Promise<number[]> => {
    throw new Error('never begun')
  })
  for (const key of [1, 2]) await expect(throwing(key)).rejects.toThrow('never begun')
})

test('rejects keys beyond 10,000 waiting keys', async () => {
  const { call, finish } = openGroup({ keys: 20_000, slots: 1 })
  const first = call(0)
  await turn()
  const rest = Promise.allSettled(upTo(10_002).map(call))
  for (const n of [0, 1]) await finish(n)
  expect(await first).toBe(0)
  expect((await rest).filter(({ status }) => status === 'rejected')).toHaveLength(2)
})

const command = (weight?: number) => ({ weight }) as QueuedCommand
const reading = () => ({ preload: { undo: { seqs: [1] } } }) as unknown as QueuedCommand
const alone = { run: async () => {}, since: 0 }

test.each<[string, (QueuedCommand | typeof alone)[], maxWrites: number, sizes: number[]]>([
  ['any number of commands', upTo(50).map(() => command()), 512, [50]],
  ['an undo alone', [command(), reading(), command(), reading(), reading()], 512, [1, 1, 1, 1, 1]],
  ['commands up to a limit of writes', [1, 2, 1, 1, 3].map(command), 4, [3, 2]],
  ['one command with more writes than the limit', [command(5), command()], 4, [1, 1]],
  ['no exclusive work', [command(), alone, command()], 4, [1, 1, 1]],
])('a batch of an actor has, in order, %s', (_, all, maxWrites, sizes) => {
  const queue = [...all]
  const taken: unknown[][] = []
  while (queue.length > 0) taken.push([takeGroup(queue, maxWrites)].flat())
  expect(taken.flat()).toEqual(all)
  expect(taken.map(({ length }) => length)).toEqual(sizes)
})
