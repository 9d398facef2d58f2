import { forFile, freshEnv, openWebs } from '../kit.ts'
import { openProxy } from './proxy.ts'

/** Opens a web process that reaches its database through a proxy. `sql` does not use the proxy. */
export async function openBehindProxy(overrides: Record<string, string> = {}) {
  const { env } = await forFile(freshEnv(overrides))
  const proxy = await forFile(openProxy(env.DATABASE_URL!))
  const { webs, people, sql } = await openWebs([{ DATABASE_URL: proxy.url }], env)
  return { proxy, sql, databaseUrl: env.DATABASE_URL!, web: webs[0]!, ada: people[0]! }
}
