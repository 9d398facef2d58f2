import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { takeFrom } from '../../src/actor/project-actor.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { newId } from '../../src/ids.ts'
import { queuedCommand } from '../support/queued-command.ts'

const projectId = newId()
const waiting = (preload: QueuedCommand['preload']): QueuedCommand =>
  queuedCommand(newId(), { projectId, preload, decide: () => ({ changes: [], answer: undefined }) })
const reading = () => waiting({ undo: { seqs: [1], authorize: () => {} } })

function sizes(commands: QueuedCommand[]): number[] {
  const queue = [...commands]
  const taken: QueuedCommand[][] = []
  while (queue.length > 0) taken.push(takeFrom(queue, 512) as QueuedCommand[])
  expect(taken.flat()).toEqual(commands)
  return taken.map(({ length }) => length)
}

test('a batch has at most four commands that read the log, and any number of other commands', () => {
  expect(sizes(Array.from({ length: 10 }, reading))).toEqual([4, 4, 2])
  expect(sizes(Array.from({ length: 50 }, () => waiting(undefined)))).toEqual([50])
  const mixed = Array.from({ length: 12 }, (_, n) => (n % 2 ? reading() : waiting(undefined)))
  expect(sizes(mixed)).toEqual([9, 3])
})

const posted = (weight?: number) => ({ weight }) as QueuedCommand
const most = 4

test('a batch contains the next commands in order, up to a limit of writes', () => {
  const all = [posted(), posted(2), posted(), posted(), posted(3)]
  const queue = [...all]
  expect(takeFrom(queue, most)).toEqual(all.slice(0, 3))
  expect(takeFrom(queue, most)).toEqual(all.slice(3))
  expect(takeFrom(queue, most)).toEqual([])
})

test('a command with more writes than the limit is alone in its batch', () => {
  const [heavy, next] = [posted(most + 1), posted()]
  const queue = [heavy, next]
  expect(takeFrom(queue, most)).toEqual([heavy])
  expect(takeFrom(queue, most)).toEqual([next])
})

test('exclusive work runs in order, and not in a batch with commands', () => {
  const [before, alone, after] = [posted(), { run: async () => {}, since: 0 }, posted()]
  const queue = [before, alone, after]
  expect(takeFrom(queue, most)).toEqual([before])
  expect(takeFrom(queue, most)).toBe(alone)
  expect(takeFrom(queue, most)).toEqual([after])
})
