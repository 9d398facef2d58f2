import { openClient, type Person, register } from './client.ts'
import { closing, freshEnv, type ServiceProcess, spawnService } from './service.ts'

export interface OwnWeb extends AsyncDisposable {
  env: Record<string, string>
  web: ServiceProcess
  ada: Person
  close(): Promise<void>
}

/** A web process with a database of its own, and somebody who is registered there. */
export async function openOwnWeb(overrides: Parameters<typeof freshEnv>[0] = {}): Promise<OwnWeb> {
  const { env, drop } = await freshEnv(overrides)
  const web = await spawnService('web', env)
  return closing({
    ...{ env, web },
    ada: await register(openClient(web.url), 'Ada'),
    async close() {
      await web.stop('SIGKILL')
      await drop()
    },
  })
}
