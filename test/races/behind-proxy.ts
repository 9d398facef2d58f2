import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { openClient, register } from '../support/client.ts'
import { freshEnv, spawnService } from '../support/service.ts'
import { openProxy } from './proxy.ts'

export type BehindProxy = Awaited<ReturnType<typeof openBehindProxy>>

/** A web process whose way to its database leads through a proxy, with somebody there; `database` goes past it. */
export async function openBehindProxy() {
  const { env, drop } = await freshEnv()
  const database = openDatabase(readConfig(env))
  const proxy = await openProxy(env.DATABASE_URL!)
  const web = await spawnService('web', { ...env, DATABASE_URL: proxy.url })
  return {
    ...{ database, proxy, web },
    ada: await register(openClient(web.url)),
    async close() {
      await Promise.all([web.stop('SIGKILL'), database.close()])
      proxy.close()
      await drop()
    },
  }
}
