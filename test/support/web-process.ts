import { openPair } from '../races/pair.ts'
import { openClient, register } from './client.ts'
import { disposable, forFile, freshEnv, spawnService } from './service.ts'

/**
 * Opens a web process until the end of the file, or of the test that opens it. Files without `overrides` share the
 * process: a file that stops it gives `{}`.
 */
export async function openWebProcess(overrides?: Parameters<typeof freshEnv>[0]) {
  if (!overrides) {
    const { env, a: web, atA } = await openPair()
    return disposable({ env, web, ada: atA, close: async () => {} })
  }
  const { env, drop } = await freshEnv(overrides)
  const web = await spawnService('web', env)
  return forFile(
    disposable({
      ...{ env, web },
      ada: await register(openClient(web.url), 'Ada'),
      async close() {
        await web.stop('SIGKILL')
        await drop()
      },
    }),
  )
}
