import { takeGroup } from '../../src/actor/actors.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import { within } from '../../src/waits.ts'
import { newId } from '../kit.ts'
import { queuedCommand } from '../support/queued-command.ts'

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
