import { expect, test } from 'bun:test'
import { believe, notYetSeen } from '../../src/identity/validity.ts'

test('a token that was looked at is believed for half a second, and never longer than it lives', () => {
  const session = { caller: { userId: 'somebody' }, ...notYetSeen }
  believe(session, 1_000, 60_000)
  expect(session).toMatchObject({ seenAt: 1_000, believedUntil: 1_500 })
  believe(session, 2_000, 10)
  expect(session).toMatchObject({ seenAt: 2_000, believedUntil: 2_010 })
})
