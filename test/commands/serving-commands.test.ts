import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { newId } from '../kit.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { conflict } from '../../src/responses/errors.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { openServing, routedCreate } from './local-execution.ts'

const reply: Reply = { status: 201, body: '{"id":"1"}', etag: null }

let executed: { routed: RoutedCommand; end: PromiseWithResolvers<Reply> }[]
let closes: boolean
let serveCommand: ReturnType<typeof openServing>
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

const routedCommand = (fields?: Partial<RoutedCommand>) => routedCreate(newId(), newId(), fields)
const sent = { kind: 'reply' as const, ...reply }

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
