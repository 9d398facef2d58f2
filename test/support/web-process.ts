import { openClient, register } from './client.ts'
import { disposable, freshEnv, spawnService } from './service.ts'

export async function openWebProcess(overrides: Parameters<typeof freshEnv>[0] = {}) {
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
