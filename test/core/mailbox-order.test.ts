import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { ProjectActor, takeFrom } from '../../src/actor/project-actor.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'

const posted = (weight?: number) => ({ weight }) as QueuedCommand
const most = 4

test('commands are taken together, in order, up to so many writes', () => {
  const all = [posted(), posted(2), posted(), posted(), posted(3)]
  const queue = [...all]
  expect(takeFrom(queue, most)).toEqual(all.slice(0, 3))
  expect(takeFrom(queue, most)).toEqual(all.slice(3))
  expect(takeFrom(queue, most)).toEqual([])
})

test('a command with more writes than are taken together is taken alone', () => {
  const [heavy, next] = [posted(most + 1), posted()]
  const queue = [heavy, next]
  expect(takeFrom(queue, most)).toEqual([heavy])
  expect(takeFrom(queue, most)).toEqual([next])
})

test('what needs the actor for itself is taken alone, and in its turn', () => {
  const [before, alone, after] = [posted(), { run: async () => {}, since: 0 }, posted()]
  const queue = [before, alone, after]
  expect(takeFrom(queue, most)).toEqual([before])
  expect(takeFrom(queue, most)).toBe(alone)
  expect(takeFrom(queue, most)).toEqual([after])
})

test('a full mailbox refuses with 503', () => {
  const config = { mailboxCommands: 1, commitEvents: most, actorCacheBytes: 0 }
  const actor = new ProjectActor('a', {} as never, {} as never, { soon() {}, ended() {} }, config)
  actor.post(posted())
  expect(() => actor.post(posted())).toThrow('Too many writes wait for this project')
})
