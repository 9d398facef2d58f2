import { beforeEach, expect, test } from 'bun:test'
import { type RpcResponse, ConnectionLost, type Peer } from '../../src/routing/rpc.ts'
import type { Command } from '../../src/commands/command.ts'
import { openRoute } from '../../src/commands/route.ts'
import type { RoutedCommand } from '../../src/commands/request.ts'
import { registryOf } from '../../src/commands/registry.ts'
import { commands } from '../../modules/commands.ts'
import { newId } from '../../src/ids.ts'
import { type Body, make, type Person } from '../support/client.ts'
import { later } from '../support/works.ts'
import { executeOf } from './executing.ts'
import { openScene } from '../support/scene.ts'

let project: Body
const { service, ada, stranger } = await openScene(['Ada', 'Stranger'])
const execute = executeOf(service.services)
beforeEach(async () => void (project = await make(ada, '/projects', { name: 'Routed' })))

const home: Peer = { id: newId(), host: '127.0.0.1', port: 1 }
const { command, form } = registryOf(commands).get('task.create')!
const create = ({ id: userId }: Person): RoutedCommand => {
  const input = { projectId: project.id, title: 'Once' }
  return { name: command.name, form, id: newId(), projectId: project.id, input, caller: { userId } }
}

/** Sends a command to a home that is lost: after that the project is at home in this process. */
function deliverPast(
  lost: (command: Command, routed: RoutedCommand) => Promise<RpcResponse>,
  routed: RoutedCommand,
) {
  const homes = [home]
  const route = openRoute(
    () => homes.shift() ?? 'here',
    (_, payload) => lost(command, payload as RoutedCommand),
    execute,
  )
  return route(command, routed, later())
}
const losing = (sent: boolean) => () => Promise.reject(new ConnectionLost(sent, 'Killed'))
const titles = async () => (await ada.get(`/tasks?projectId=${project.id}`)).body.map(({ title }) => title)

test('a command that a lost home never got is rejected with the reason of the next one', async () => {
  const rejected = deliverPast(losing(false), create(stranger))
  expect(await rejected.catch((error) => error)).toMatchObject({ status: 404 })
})

test('a command that a lost home may still commit is not said to be rejected: 503', async () => {
  const rejected = deliverPast(losing(true), create(stranger))
  expect(await rejected.catch((error) => error)).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1' },
  })
})

for (const sent of [false, true])
  test(`a command that its home lost ${sent ? 'after' : 'before'} it was sent is committed by the next one`, async () => {
    expect(await deliverPast(losing(sent), create(ada))).toMatchObject({ status: 201 })
    expect(await titles()).toEqual(['Once'])
  })

test('a command that a home committed before it was lost is answered, and not committed again', async () => {
  let first: unknown
  const committing = async (command: Command, routed: RoutedCommand): Promise<RpcResponse> => {
    first = await execute(command, routed, later())
    throw new ConnectionLost(true, 'Killed')
  }
  expect(await deliverPast(committing, create(ada))).toEqual(first as never)
  expect(await titles()).toEqual(['Once'])
})
