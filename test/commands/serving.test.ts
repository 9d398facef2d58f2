import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'bun:test'
import type { RpcResponse } from '../../src/routing/rpc.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { registryOf } from '../../src/commands/registry.ts'
import { Scheduler } from '../../src/admission/scheduler.ts'
import { openServe } from '../../src/commands/serve.ts'
import { commands } from '../../modules/commands.ts'
import { newId } from '../../src/ids.ts'
import { openLog } from '../../src/log.ts'
import { connectionError } from '../../src/postgres/errors.ts'
import { distantDeadline } from '../support/queued-command.ts'
import { conflict } from '../../src/responses/errors.ts'
import type { Reply } from '../../src/responses/reply.ts'

const registry = registryOf(commands)
const reply: Reply = { status: 201, body: '{"id":"1"}', etag: null }

/** What was done here, and how each of it ends. */
let done: { routed: RoutedCommand; end: PromiseWithResolvers<Reply> }[]
let closes: boolean
let serve: ReturnType<typeof openServe>
beforeEach(() => {
  done = []
  const execute = (_: unknown, routed: RoutedCommand) => {
    const end = Promise.withResolvers<Reply>()
    done.push({ routed: { ...routed }, end })
    return end.promise
  }
  closes = false
  const means = { registry, execute, scheduler: new Scheduler(), isClosing: () => closes }
  serve = openServe({ ...means, ttlMs: 15_000, log: openLog('silent') })
})

const order = (fields: Partial<RoutedCommand> = {}): RoutedCommand => {
  const { form } = registry.get('task.create')!
  const projectId = newId()
  const input = { projectId, title: 'Asked' }
  return { name: 'task.create', form, id: newId(), projectId, input, caller: { userId: newId() }, ...fields }
}

const ask = (payload: unknown) =>
  new Promise<RpcResponse>((answer) => serve([{ payload, deadline: distantDeadline(), respond: answer }]))
const sent = { kind: 'reply' as const, ...reply }

test('an order is done and its answer told; a copy that comes over another connection joins it', async () => {
  const one = order()
  const answers = [ask(one), ask({ ...one, again: true })]
  expect(done).toHaveLength(1)
  done[0]!.end.resolve(reply)
  expect(await Promise.all(answers)).toEqual([sent, sent])
})

test('a first copy that comes after the second looks into the log too', async () => {
  const one = order()
  const second = ask({ ...one, again: true })
  done[0]!.end.resolve(reply)
  await second
  void ask(one)
  void ask(order())
  expect(done.map(({ routed }) => routed.again)).toEqual([true, true, undefined])
})

test('a command of another release is not begun, nor anything by a process that closes', async () => {
  const unknown = [order({ name: 'task.paint' }), order({ form: 'othrform' }), null, 'text', 7, [], {}]
  for (const one of unknown) expect(await ask(one)).toEqual({ kind: 'unknown' })
  closes = true
  expect(await ask(order())).toEqual({ kind: 'unknown' })
  expect(done).toEqual([])
})

test('a refusal goes back as it is, a defect says nothing of itself, and where the database is away: come again', async () => {
  const answers = Promise.all([ask(order()), ask(order()), ask(order())])
  done[0]!.end.reject(conflict('Taken'))
  done[1]!.end.reject(new TypeError('secret'))
  done[2]!.end.reject(connectionError('CONNECTION_CLOSED', 'The connection was closed'))
  const [refused, failed, away] = await answers
  expect(refused).toEqual({ kind: 'refusal', status: 409, message: 'Taken', headers: {} })
  expect(failed).toEqual({ kind: 'failed' })
  expect(away).toMatchObject({ kind: 'refusal', status: 503, headers: { 'retry-after': '1' } })
})

test('commands that another process forwards for one account leave room for other accounts', async () => {
  const caller = { userId: newId() }
  void ask(order())
  const answers = Array.from({ length: 20 }, () => ask(order({ caller })))
  expect(done).toHaveLength(1 + 16)
  void ask(order())
  expect(done).toHaveLength(1 + 16 + 1)
  for (const { end } of done) end.resolve(reply)
  await answers[0]
  while (done.length < 1 + 20 + 1) await nextTurn()
})
