import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { Mailbox } from '../../src/actor/project-actor.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'

const posted = (weight?: number) => ({ weight }) as QueuedCommand
const most = 4

test('commands are taken together, in order, up to so many writes', () => {
  const mailbox = new Mailbox(10)
  const all = [posted(), posted(2), posted(), posted(), posted(3)]
  for (const one of all) mailbox.put(one)
  expect(mailbox.take(most)).toEqual(all.slice(0, 3))
  expect(mailbox.take(most)).toEqual(all.slice(3))
  expect(mailbox.take(most)).toBeUndefined()
})

test('a command with more writes than are taken together is taken alone', () => {
  const mailbox = new Mailbox(10)
  const [heavy, next] = [posted(most + 1), posted()]
  for (const one of [heavy, next]) mailbox.put(one)
  expect(mailbox.take(most)).toEqual([heavy])
  expect(mailbox.take(most)).toEqual([next])
})

test('what needs the actor for itself is taken alone, and in its turn', () => {
  const mailbox = new Mailbox(10)
  const [before, alone, after] = [posted(), { run: async () => {}, since: 0 }, posted()]
  for (const one of [before, alone, after]) mailbox.put(one)
  expect(mailbox.take(most)).toEqual([before])
  expect(mailbox.take(most)).toBe(alone)
  expect(mailbox.take(most)).toEqual([after])
})

test('a full mailbox refuses with 503', () => {
  const mailbox = new Mailbox(1)
  mailbox.put(posted())
  expect(() => mailbox.put(posted())).toThrow('Too many writes wait for this project')
})
