import { expect, test } from 'bun:test'
import { ownIteration } from '../../modules/mcp/turns.ts'

test('accounts take turns, so that many messages of one account do not delay another', async () => {
  const order: string[] = []
  const message = (account: string) => ownIteration(account).then(() => order.push(account))
  await Promise.all(['ada', 'ada', 'ada', 'ada', 'bea', 'bea'].map(message))
  expect(order).toEqual(['ada', 'bea', 'ada', 'bea', 'ada', 'ada'])
})
