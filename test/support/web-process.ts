import { openClient, type Person, register } from './client.ts'
import { disposable, freshEnv, type ServiceProcess, spawnService } from './service.ts'

export interface WebProcess extends AsyncDisposable {
  env: Record<string, string>
  web: ServiceProcess
  ada: Person
  close(): Promise<void>
}

/** A web process with a database of its own, and somebody who is registered there. */
export async function openWebProcess(overrides: Parameters<typeof freshEnv>[0] = {}): Promise<WebProcess> {
  const { env, drop } = await freshEnv(overrides)
  const web = await spawnService('web', env)
  return disposable({
    ...{ env, web },
    ada: await register(openClient(web.url), 'Ada'),
    async close() {
      await web.stop('SIGKILL')
      await drop()
    },
  })
}
