import { expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../../src/app.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { forFile } from '../support/service.ts'

const { service, ada } = await openScene(['Ada'])
const { database } = service.services
const app = createApp(service.services).listen({ hostname: '127.0.0.1', port: 0, idleTimeout: 1 })
await forFile({ stop: () => app.server!.stop(true) })

test('an account export may send nothing for longer than the idle timeout while it stores a project', async () => {
  await make(ada, '/projects', { name: 'Large' })
  const { exports } = database
  const begin = async (how: string, work: (sql: object) => Promise<unknown>) => {
    // Bun closes an idle connection within 4 seconds.
    await sleep(6_000)
    return exports.begin(how, work)
  }
  const get = (pool: typeof exports, name: string) => (name === 'begin' ? begin : Reflect.get(pool, name))
  Object.assign(database, { exports: new Proxy(exports, { get: get as never }) })
  const headers = { authorization: `Bearer ${ada.token}` }
  const response = await fetch(`http://127.0.0.1:${app.server!.port}/api/v1/export`, { headers })
  const { status } = response
  expect({ status, bytes: (await response.arrayBuffer()).byteLength > 100 }).toEqual({
    status: 200,
    bytes: true,
  })
}, 20_000)
