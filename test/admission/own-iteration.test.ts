import { expect, test } from 'bun:test'
import { inIterations, ownIteration } from '../../src/admission/own-iteration.ts'

test('accounts take turns, so that many messages of one account do not delay another', async () => {
  const order: string[] = []
  const message = (account: string) => ownIteration(account).then(() => order.push(account))
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bea', 'bea'].map(message))
  expect(order).toEqual(['ada', 'bea', 'ada', 'bea', 'ada', 'ada'])
})

test('work in steps lets other work run between its steps, and returns its results in order', async () => {
  let others = 0
  const other = setInterval(() => others++)
  function* work(name: string): Generator<undefined, string> {
    const end = performance.now() + 6
    while (performance.now() < end);
    yield
    return name
  }
  expect(await inIterations(['a', 'b', 'c', 'd'].map(work), 'ada')).toEqual(['a', 'b', 'c', 'd'])
  clearInterval(other)
  expect(others).toBeGreaterThan(0)
})
