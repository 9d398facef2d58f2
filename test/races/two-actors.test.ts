import { Actors } from '../../src/actor/actors.ts'
import type { Outcome } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import { deleted } from '../../src/model/events.ts'
import { Leases } from '../../src/lock/leases.ts'
import { State } from '../../src/actor/state.ts'
import { eventually, newId, openLog, readConfig, sharedRedisPrefix } from '../kit.ts'
import { nilId } from '../../src/id-format.ts'
import { distantDeadline, queuedCommand } from '../support/queued-command.ts'
import { notFound } from '../../src/responses/errors.ts'
import { openRedis, openSubscriber } from '../../src/redis/connections.ts'
import { project } from '../rules/events.ts'

/** Commits that wait until the test calls `finish`. */
let pending: { projectIds: string[]; finish: () => void }[]
let actors: Actors
let disconnect: () => void
beforeEach(() => {
  const { url, prefix } = sharedRedisPrefix()
  const config = readConfig({ REDIS_URL: url, REDIS_PREFIX: prefix, ACTOR_IDLE_MS: '100' })
  const log = openLog('silent')
  const [redis, subscriber] = [openRedis(config, log), openSubscriber(url, log)]
  disconnect = () => [redis, subscriber].forEach((connection) => connection.disconnect())
  pending = []
  const transactor = {
    findCommitted: async () => new Map(),
    loader: { state: async (id: string) => new State(id, 1), rows: async () => {} },
    versions: { isCurrent: async () => true },
    commit: ({ heads }: CommitUnit) =>
      new Promise<Outcome>((resolve) => {
        const finish = () => {
          pending = pending.filter((commit) => commit.finish !== finish)
          resolve('committed')
        }
        pending.push({ projectIds: heads.map(({ projectId }) => projectId), finish })
      }),
    findRecord: async () => undefined,
    readUndoInput: () => Promise.reject(notFound('Event')),
    react: () => [],
    onCommitted: () => {},
  }
  actors = new Actors(transactor, new Leases(redis, subscriber, config), config)
})
afterEach(async () => {
  await actors.close(0)
  disconnect()
})

const command = (projectId: string, destinationId?: string, deadline = distantDeadline()) =>
  queuedCommand<undefined>(nilId, {
    projectId,
    destinationId,
    deadline,
    decide: (state, context) => ({
      changes: [deleted(state, context, 'project.deleted', { ...project, id: projectId })],
      answer: undefined,
    }),
  })
const commitsOf = (id: string) => pending.filter(({ projectIds }) => projectIds.includes(id))

test('a project never has two actors, even if its idle actor is evicted while a move waits for the other project', async () => {
  const [first, second] = [newId(), newId()]
  const busy = actors.run(command(first))
  await eventually('the commit', () => pending.length === 1)
  const move = actors.run(command(first, second))
  await Bun.sleep(1_000)

  pending[0]!.finish()
  await eventually('the commit of the move', () => commitsOf(second).length === 1)
  const next = actors.run(command(second))
  await Bun.sleep(100)
  expect(commitsOf(second).map(({ projectIds }) => projectIds)).toEqual([[first, second]])
  pending[0]!.finish()
  await eventually('the next commit', () => commitsOf(second).length === 1)
  pending[0]!.finish()
  await Promise.all([busy, move, next])
})

test('a move that times out while the other project is busy does not block its project', async () => {
  const [first, second] = [newId(), newId()]
  const busy = actors.run(command(second))
  await eventually('the commit', () => pending.length === 1)
  const move = actors.run(command(first, second, performance.now() + 300)).catch((error) => error)
  expect(await move).toMatchObject({ status: 503 })

  const next = actors.run(command(first))
  await eventually('the commit of the next command', () => commitsOf(first).length === 1)
  expect(commitsOf(first).map(({ projectIds }) => projectIds)).toEqual([[first]])
  commitsOf(first)[0]!.finish()
  await next
  commitsOf(second)[0]!.finish()
  await busy
  const last = actors.run(command(second))
  await eventually('the last commit', () => commitsOf(second).length === 1)
  expect(commitsOf(second).map(({ projectIds }) => projectIds)).toEqual([[second]])
  commitsOf(second)[0]!.finish()
  await last
})

test('an actor with a pending commit is never evicted', async () => {
  const [slow, quick] = [newId(), newId()]
  const busy = actors.run(command(slow))
  await eventually('the commit', () => pending.length === 1)
  const done = actors.run(command(quick))
  await eventually('the other commit', () => pending.length === 2)
  pending[1]!.finish()
  await done
  // The least recently used actor is evicted first.
  await eventually('the eviction of an actor', () => actors.load().known < 2)
  expect(actors.load().known).toBe(1)
  const next = actors.run(command(slow))
  expect(actors.load()).toMatchObject({ known: 1, deepest: 1 })
  pending[0]!.finish()
  await eventually('the next commit', () => commitsOf(slow).length === 1)
  pending[0]!.finish()
  await Promise.all([busy, next])
})
