import { setTimeout as sleep } from 'node:timers/promises'
import { createApp, forFile, make, openScene } from '../kit.ts'

const { service, ada } = await openScene(['Ada'])

test('an account export may send nothing for longer than the idle timeout while it stores a project', async () => {
  const app = createApp(service.services).listen({ hostname: '127.0.0.1', port: 0, idleTimeout: 1 })
  await forFile({ stop: () => app.server!.stop(true) })
  const { database } = service.services
  const { exports } = database
  const begin = async (how: string, work: (sql: object) => Promise<unknown>) => {
    // Bun closes an idle connection within 4 seconds.
    await sleep(6_000)
    return exports.begin(how, work)
  }
  const get = (pool: typeof exports, name: string) => (name === 'begin' ? begin : Reflect.get(pool, name))
  Object.assign(database, { exports: new Proxy(exports, { get: get as never }) })
  await make(ada, '/projects', { name: 'Large' })
  const headers = { authorization: `Bearer ${ada.token}` }
  const response = await fetch(`http://127.0.0.1:${app.server!.port}/api/v1/export`, { headers })
  expect([response.status, (await response.arrayBuffer()).byteLength > 100]).toEqual([200, true])
}, 20_000)
