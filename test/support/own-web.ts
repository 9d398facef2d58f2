import { openClient, type Person, register } from './client.ts'
import { freshEnv, type ServiceProcess, spawnService } from './service.ts'

export interface OwnWeb {
  env: Record<string, string>
  web: ServiceProcess
  ada: Person
  close(): Promise<void>
}

/** A web process with a database of its own, and somebody who is registered there. */
export async function openOwnWeb(overrides: Parameters<typeof freshEnv>[0] = {}): Promise<OwnWeb> {
  const { env, drop } = await freshEnv(overrides)
  const web = await spawnService('web', env)
  return {
    ...{ env, web },
    ada: await register(openClient(web.url), 'Ada'),
    async close() {
      await web.stop('SIGKILL')
      await drop()
    },
  }
}
