import { openPair, openWebs } from '../races/pair.ts'
import { disposable } from './service.ts'

/**
 * Opens a web process until the end of the file, or of the test that opens it. Files without `overrides` share the
 * process: a file that stops it gives `{}`.
 */
export async function openWebProcess(overrides?: Record<string, string>) {
  if (overrides) {
    const { env, webs, people, close } = await openWebs([{}], overrides)
    return disposable({ env, web: webs[0]!, ada: people[0]!, close })
  }
  const { env, a: web, atA: ada } = await openPair()
  return disposable({ env, web, ada, close: async () => {} })
}
