import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { type Body, make, newId, openScene, type Person } from '../kit.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { conflict, outcomeUnknown, writeTimedOut } from '../../src/responses/errors.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { createCommand as command, executeOf, openServing, routedCreate } from './local-execution.ts'
import { ConnectionLost } from '../../src/routing/rpc-client.ts'
import type { Peer, RpcResponse } from '../../src/routing/rpc.ts'
import type { Command } from '../../src/commands/command.ts'
import { openRoute } from '../../src/commands/router.ts'
import { distantDeadline } from '../support/queued-command.ts'

const reply: Reply = { status: 201, body: '{"id":"1"}', etag: null }

let executed: { routed: RoutedCommand; end: PromiseWithResolvers<Reply> }[]
let closes: boolean
let serveCommand: ReturnType<typeof openServing>

const routedCommand = (fields?: Partial<RoutedCommand>) => routedCreate(newId(), newId(), fields)
const sent = { kind: 'reply' as const, ...reply }

describe('serving commands', () => {
  beforeEach(() => {
    executed = []
    const execute = (_: unknown, routed: RoutedCommand) => {
      const end = Promise.withResolvers<Reply>()
      executed.push({ routed: { ...routed }, end })
      return end.promise
    }
    closes = false
    serveCommand = openServing(execute, () => closes)
  })

  test('executes a command, and a copy from another connection joins it', async () => {
    const routed = routedCommand()
    const answers = [serveCommand(routed), serveCommand({ ...routed, again: true })]
    expect(executed).toHaveLength(1)
    executed[0]!.end.resolve(reply)
    expect(await Promise.all(answers)).toEqual([sent, sent])
  })

  test('if the first copy of a command arrives after a retry, searches the log for the command', async () => {
    const routed = routedCommand()
    const second = serveCommand({ ...routed, again: true })
    executed[0]!.end.resolve(reply)
    await second
    void serveCommand(routed)
    void serveCommand(routedCommand())
    expect(executed.map(({ routed }) => routed.again)).toEqual([true, true, undefined])
  })

  test('rejects commands from another release, and all commands while the process shuts down', async () => {
    const unknown = [routedCommand({ name: 'task.paint' }), routedCommand({ form: 'othrform' })]
    for (const payload of [...unknown, null, 'text', 7, [], {}])
      expect(await serveCommand(payload)).toEqual({ kind: 'unknown' })
    closes = true
    expect(await serveCommand(routedCommand())).toEqual({ kind: 'unknown' })
    expect(executed).toEqual([])
  })

  test('sends an HttpError unchanged, hides other errors, and responds with 503 while the database is unavailable', async () => {
    const answers = Promise.all(Array.from({ length: 3 }, () => serveCommand(routedCommand())))
    executed[0]!.end.reject(conflict('Taken'))
    executed[1]!.end.reject(new TypeError('secret'))
    executed[2]!.end.reject(connectionError('CONNECTION_CLOSED', 'The connection was closed'))
    const [refused, failed, away] = await answers
    expect(refused).toEqual({ kind: 'refusal', status: 409, message: 'Taken', headers: {}, details: {} })
    expect(failed).toEqual({ kind: 'failed' })
    expect(away).toMatchObject({ kind: 'refusal', status: 503, headers: { 'retry-after': '1' } })
  })

  test('limits the forwarded commands from one account, so that other accounts are not delayed', async () => {
    const caller = { userId: newId() }
    void serveCommand(routedCommand())
    const answers = Array.from({ length: 20 }, () => serveCommand(routedCommand({ caller })))
    expect(executed).toHaveLength(1 + 16)
    void serveCommand(routedCommand())
    expect(executed).toHaveLength(1 + 16 + 1)
    for (const { end } of executed) end.resolve(reply)
    await answers[0]
    while (executed.length < 1 + 20 + 1) await nextTurn()
  })
})

let project: Body
const { service, ada, stranger } = await openScene(['Ada', 'Stranger'])
const execute = executeOf(service.services)

const home: Peer = { id: newId(), host: '127.0.0.1', port: 1 }
const create = ({ id }: Person) => routedCreate(project.id, id)

/** Sends a command to a home that is lost. Then this process becomes the home. */
function routePastLostHome(
  lost: (command: Command, routed: RoutedCommand) => Promise<RpcResponse>,
  routed: RoutedCommand,
) {
  const homes = [home]
  const route = openRoute(
    () => homes.shift() ?? 'here',
    (_, payload) => lost(command, payload as RoutedCommand),
    execute,
  )
  return route(command, routed, distantDeadline())
}
const losing = (sent: boolean) => () => Promise.reject(new ConnectionLost(sent, 'Killed'))
const titles = async () => (await ada.get(`/tasks?projectId=${project.id}`)).body.map(({ title }) => title)

/** Routes a command; the first `lost` homes break the connection. Returns the answer, and `again` of each sent copy. */
async function routed(lost: number, wasSent: boolean) {
  const sent: (true | undefined)[] = []
  const reply = { status: 201, body: '{"id":"1"}', etag: null }
  const route = openRoute(
    () => ({ ...home, id: `home-${sent.length + 1}` }),
    async (_, payload) => {
      sent.push((payload as RoutedCommand).again)
      if (sent.length <= lost) throw new ConnectionLost(wasSent, 'the process ended')
      return { kind: 'reply', ...reply }
    },
    () => Promise.reject(new Error('The command has another home')),
  )
  return { answer: await route(command, create(ada), distantDeadline()).catch((error) => error), sent }
}

describe('routing commands', () => {
  beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Routed' })))

  test('responds with 503 to a rejected command if a lost home may still commit the command', async () => {
    const rejected = (sent: boolean) =>
      routePastLostHome(losing(sent), create(stranger)).catch((error) => error)
    expect(await rejected(false)).toMatchObject({ status: 404 })
    expect(await rejected(true)).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('an error of a retry has an unknown outcome, because the lost home may have committed the command', async () => {
    const refusal = (message: string) => ({ kind: 'refusal', status: 503, message, headers: {} }) as const
    const errorOf = (isLost: boolean, message: string) => {
      let sent = 0
      const call = async () => {
        if (isLost && ++sent === 1) throw new ConnectionLost(true, 'Killed')
        return refusal(message)
      }
      const route = openRoute(() => home, call, execute)
      return route(command, create(ada), distantDeadline()).catch(({ message }) => message)
    }
    const unknown = outcomeUnknown().message
    expect(await errorOf(false, 'Too many writes wait')).toBe('Too many writes wait')
    expect(await errorOf(true, 'Too many writes wait')).toBe(unknown)
    expect(await errorOf(true, writeTimedOut().message)).toBe(unknown)
    expect(await errorOf(false, writeTimedOut().message)).toBe(writeTimedOut().message)
    // A process of the previous release sends this message also after the commit was sent.
    expect(await errorOf(false, 'The write timed out')).toBe(unknown)
  })

  for (const sent of [false, true])
    test(`commits a command at the next home if the connection was lost ${sent ? 'after' : 'before'} the command was sent`, async () => {
      expect(await routePastLostHome(losing(sent), create(ada))).toMatchObject({ status: 201 })
      expect(await titles()).toEqual(['Task'])
    })

  test('returns the first reply without a second commit if the lost home had committed the command', async () => {
    let first: unknown
    const committing = async (command: Command, routed: RoutedCommand): Promise<RpcResponse> => {
      first = await execute(command, routed)
      throw new ConnectionLost(true, 'Killed')
    }
    expect(await routePastLostHome(committing, create(ada))).toEqual(first as never)
    expect(await titles()).toEqual(['Task'])
  })

  test('sends a command to three homes at most, and then rejects it with 503', async () => {
    const third = await routed(2, true)
    expect([third.answer.status, third.sent]).toEqual([201, [undefined, true, true]])
    const { answer, sent } = await routed(10, true)
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    expect(sent).toHaveLength(3)
  })

  test('an attempt that did not reach the home does not count as a retry', async () => {
    const { answer, sent } = await routed(9, false)
    expect([answer.status, sent]).toEqual([201, Array(10).fill(undefined)])
  })

  test('a write to a row that this process created or moved needs no query for its project', async () => {
    const { places } = service.services.counts.caches
    const [project, other] = [
      await make(ada, '/projects', { name: 'P' }),
      await make(ada, '/projects', { name: 'O' }),
    ]
    const task = await make(ada, '/tasks', { title: 'T', projectId: project.id })
    const subtask = await make(ada, `/tasks/${task.id}/subtasks`, { title: 'S' })
    const before = places.misses
    for (const projectId of [other.id, project.id])
      expect((await ada.patch(`/tasks/${task.id}`, { projectId })).status).toBe(200)
    expect((await ada.patch(`/tasks/subtasks/${subtask.id}/toggle`)).status).toBe(200)
    expect(places.misses).toBe(before)
  })
})
