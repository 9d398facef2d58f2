import '../../modules/modules.ts'
import { beforeEach, expect, test } from 'bun:test'
import { ConnectionLost } from '../../src/routing/rpc.ts'
import { createTask } from '../../modules/tasks/commands.ts'
import type { Command } from '../../src/commands/command.ts'
import { openRoute } from '../../src/commands/route.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { newId } from '../../src/ids.ts'
import type { Reply } from '../../src/wire/answers.ts'
import { later } from '../support/works.ts'

const command = createTask as unknown as Command
const reply: Reply = { status: 201, body: '{"id":"1"}', etag: null }

/** The homes that were sent the command, and whether it was marked as sent again. */
let sent: { home: string; again?: true }[]
beforeEach(() => {
  sent = []
})

/** Routes one command; the home it is sent to breaks its connection `lost` times, with the command sent or not. */
function route(lost: number, wasSent: boolean): Promise<Reply> {
  const route = openRoute(
    () => ({ id: `home-${sent.length + 1}`, host: '127.0.0.1', port: 1 }),
    async (home, payload) => {
      sent.push({ home: home.id, again: (payload as RoutedCommand).again })
      if (sent.length <= lost) throw new ConnectionLost(wasSent, 'the process ended')
      return { kind: 'reply', ...reply }
    },
    () => Promise.reject(new Error('The command has another home')),
  )
  const projectId = newId()
  const input = { projectId, title: 'T' }
  const order = { name: 'task.create', input, caller: { userId: newId() }, form: 'form' }
  return route(command, { ...order, id: newId(), projectId }, later())
}

test('sends a command that two homes lost to a third one', async () => {
  expect(await route(2, true)).toMatchObject(reply)
  expect(sent.map(({ again }) => again)).toEqual([undefined, true, true])
})

test('rejects a command with 503 after three homes ended with it', async () => {
  const error = await route(10, true).catch((reason) => reason)
  expect(error).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  expect(sent).toHaveLength(3)
})

test('does not count a home that was never sent the command', async () => {
  expect(await route(9, false)).toMatchObject(reply)
  expect(sent).toHaveLength(10)
  expect(sent.every(({ again }) => again === undefined)).toBe(true)
})
