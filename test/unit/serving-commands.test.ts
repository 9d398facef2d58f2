import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RoutedCommand } from '../../src/commands/command.ts'
import { type Body, make, newId, openScene, upTo } from '../kit.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { conflict, outcomeUnknown, writeTimedOut } from '../../src/responses/errors.ts'
import type { Reply } from '../../src/responses/reply.ts'
import { createCommand as command, executeOf, openServing, routedCreate } from './local-execution.ts'
import { ConnectionLost } from '../../src/routing/rpc-client.ts'
import type { RpcResponse } from '../../src/routing/rpc.ts'
import { openRoute } from '../../src/commands/router.ts'
import { distantDeadline } from '../support/queued-command.ts'

const reply: Reply = { status: 201, body: '{"id":"1"}', etag: null }
const sent = { kind: 'reply' as const, ...reply }
const routedCommand = (fields?: Partial<RoutedCommand>) => routedCreate(newId(), newId(), fields)

/** Opens a home whose commands end when the test ends them. */
function openHome() {
  const executed: { routed: RoutedCommand; end: PromiseWithResolvers<Reply> }[] = []
  const state = { closes: false }
  const serve = openServing(
    (_, routed) => {
      const end = Promise.withResolvers<Reply>()
      executed.push({ routed: { ...routed }, end })
      return end.promise
    },
    () => state.closes,
  )
  return { executed, serve, state }
}

test('a copy of a command joins the command in progress; a first copy after a retry searches the log', async () => {
  const { serve, executed } = openHome()
  const routed = routedCommand()
  const answers = [serve({ ...routed, again: true }), serve({ ...routed, again: true })]
  expect(executed).toHaveLength(1)
  executed[0]!.end.resolve(reply)
  expect(await Promise.all(answers)).toEqual([sent, sent])
  void serve(routed)
  void serve(routedCommand())
  expect(executed.map(({ routed }) => routed.again)).toEqual([true, true, undefined])
})

test('rejects commands from another release, and all commands while the process shuts down', async () => {
  const { serve, executed, state } = openHome()
  const answerTo = (payload: unknown) => Promise.race([serve(payload), nextTurn('no answer')])
  const unknown = [routedCommand({ name: 'task.paint' }), routedCommand({ form: 'othrform' })]
  for (const payload of [...unknown, null, 'text', 7, [], {}])
    expect(await answerTo(payload)).toEqual({ kind: 'unknown' })
  state.closes = true
  expect(await answerTo(routedCommand())).toEqual({ kind: 'unknown' })
  expect(executed).toEqual([])
})

test('sends an HttpError unchanged, hides other errors, and responds with 503 while the database is unavailable', async () => {
  const { serve, executed } = openHome()
  const answers = Promise.all(upTo(3).map(() => serve(routedCommand())))
  const errors = [conflict('Taken'), new TypeError('secret'), connectionError('CONNECTION_CLOSED', 'closed')]
  for (const [n, error] of errors.entries()) executed[n]!.end.reject(error)
  expect(await answers).toEqual([
    { kind: 'refusal', status: 409, message: 'Taken', headers: {}, details: {} },
    { kind: 'failed' },
    expect.objectContaining({ kind: 'refusal', status: 503, headers: { 'retry-after': '1' } }),
  ])
})

test('limits the forwarded commands from one account, so that other accounts are not delayed', async () => {
  const { serve, executed } = openHome()
  const caller = { userId: newId() }
  void serve(routedCommand())
  for (const _ of upTo(20)) void serve(routedCommand({ caller }))
  expect(executed).toHaveLength(1 + 16)
  void serve(routedCommand())
  expect(executed).toHaveLength(1 + 16 + 1)
  for (const { end } of executed) end.resolve(reply)
  while (executed.length < 1 + 20 + 1) await nextTurn()
})

let project: Body
const { service, ada, stranger } = await openScene(['Ada', 'Stranger'], {})
const execute = executeOf(service.services)
beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Routed' })))
const titles = async () => (await ada.get(`/tasks?projectId=${project.id}`)).body.map(({ title }) => title)

/**
 * Routes a command while the first `lost` homes break the connection. Then this process is the home, or `next` answers.
 * Returns the reply or error, and `again` of each sent copy.
 */
async function route(
  lost: number,
  wasSent: boolean,
  { by = ada, next = undefined as RpcResponse | undefined } = {},
) {
  const copies: (true | undefined)[] = []
  const peer = { id: 'home', host: '127.0.0.1', port: 1 }
  const send = openRoute(
    () => (copies.length < lost || next ? peer : 'here'),
    async (_, payload) => {
      copies.push((payload as RoutedCommand).again)
      if (copies.length <= lost) throw new ConnectionLost(wasSent, 'Killed')
      return next!
    },
    execute,
  )
  const routed = routedCreate(project.id, by.id)
  return { answer: await send(command, routed, distantDeadline()).catch((error) => error), copies }
}

test('after a lost connection, the next home commits the command once, but an error of the retry is uncertain', async () => {
  for (const wasSent of [false, true]) expect((await route(1, wasSent)).answer).toMatchObject({ status: 201 })
  expect(await titles()).toEqual(['Task', 'Task'])
  expect((await route(1, false, { by: stranger })).answer).toMatchObject({ status: 404 })
  const uncertain = { status: 503, headers: { 'retry-after': '1' }, message: outcomeUnknown().message }
  expect((await route(1, true, { by: stranger })).answer).toMatchObject(uncertain)
  const messageAfter = async (lost: number, message: string) => {
    const next = { kind: 'refusal', status: 503, message, headers: {} } as const
    return (await route(lost, true, { next })).answer.message
  }
  for (const message of ['Too many writes wait', writeTimedOut().message])
    expect([await messageAfter(0, message), await messageAfter(1, message)]).toEqual([
      message,
      uncertain.message,
    ])
})

test('sends a command to three homes at most, but repeats an attempt that did not reach its home', async () => {
  const third = await route(2, true, { next: sent })
  expect([third.answer.status, third.copies]).toEqual([201, [undefined, true, true]])
  const { answer, copies } = await route(10, true, { next: sent })
  expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(copies).toHaveLength(3)
  const unsent = await route(9, false, { next: sent })
  expect([unsent.answer.status, unsent.copies]).toEqual([201, Array(10).fill(undefined)])
})
