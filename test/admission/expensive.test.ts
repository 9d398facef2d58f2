import { expect, spyOn, test } from 'bun:test'
import { Expensive } from '../../src/admission/expensive.ts'

/** Opens operations. Each adds its name to `begun` when it starts, and ends when the test calls its function in `ends`. */
function openWork(ofAccount: number, isShared = false) {
  const expensive = new Expensive(ofAccount, { isShared: () => isShared })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const begin = (name: string) => async () => {
    begun.push(name)
    await new Promise<void>((resolve) => ends.push(resolve))
    return name
  }
  return { begun, ends, run: (account: string, name: string) => expensive.run(account, begin(name)) }
}

test('expensive operations run one after another, and accounts alternate', async () => {
  const { begun, ends, run } = openWork(4)
  const all = [run('ada', 'a1'), run('ada', 'a2'), run('ada', 'a3'), run('bob', 'b1'), run('eve', 'e1')]
  for (const count of [1, 2, 3, 4, 5]) {
    while (begun.length < count) await new Promise(setImmediate)
    await new Promise(setImmediate)
    expect(begun).toHaveLength(count)
    ends[count - 1]!()
  }
  expect(begun).toEqual(['a1', 'a2', 'b1', 'e1', 'a3'])
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1', 'e1'])
})

test('a failed operation frees its slot', async () => {
  const expensive = new Expensive(1, { isShared: () => false })
  const run = <T>(account: string, work: () => Promise<T>) => expensive.run(account, work)
  await expect(run('ada', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await run('ada', async () => 'done')).toBe('done')
  const first = run('ada', async () => 'first')
  await expect(run('ada', async () => 'second')).rejects.toMatchObject({ status: 429 })
  expect(await first).toBe('first')
})

test('while other accounts are active, an account pauses for four times the duration of its last operation, and other accounts run first', async () => {
  const { begun, ends, run } = openWork(4, true)
  const timers: [go: () => void, ms?: number][] = []
  const setTimer = spyOn(globalThis, 'setTimeout').mockImplementation(((...timer: [() => void]) =>
    timers.push(timer)) as unknown as typeof setTimeout)
  const now = spyOn(performance, 'now').mockReturnValue(0)
  try {
    const all = [run('ada', 'a1'), run('ada', 'a2'), run('ada', 'a3')]
    now.mockReturnValue(20)
    ends[0]!()
    await all[0]
    expect(begun).toEqual(['a1'])
    // Ends the pause.
    timers[0]![0]()
    await new Promise(setImmediate)
    ends[1]!()
    await all[1]
    all.push(run('bob', 'b1'))
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    ends[2]!()
    while (begun.length < 4) await new Promise(setImmediate)
    ends[3]!()
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'b1'])
    expect(timers[0]![1]).toBe(80)
  } finally {
    setTimer.mockRestore()
    now.mockRestore()
  }
})
