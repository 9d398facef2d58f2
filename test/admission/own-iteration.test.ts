import { expect, test } from 'bun:test'
import { inIterations, ownIteration } from '../../src/admission/own-iteration.ts'

test('accounts take turns, so that many messages of one account do not delay another', async () => {
  const order: string[] = []
  const message = (account: string) => ownIteration(account).then(() => order.push(account))
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bea', 'bea'].map(message))
  expect(order).toEqual(['ada', 'bea', 'ada', 'bea', 'ada', 'ada'])
})

test('other work runs between pieces of work, whose results are returned in order', async () => {
  let others = 0
  const other = setInterval(() => others++)
  const work = (name: string) => () => {
    const end = performance.now() + 6
    while (performance.now() < end);
    return name
  }
  expect(await inIterations(['a', 'b', 'c', 'd'].map(work), 'ada')).toEqual(['a', 'b', 'c', 'd'])
  clearInterval(other)
  expect(others).toBeGreaterThan(0)
})
