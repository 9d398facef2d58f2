import { make } from '../support/client.ts'
import { forFile, type ServiceProcess, spawnService } from '../support/service.ts'
import { type Load, requireKept, startLoad } from './load.ts'
import { openWebs, upTo } from './pair.ts'

/** Three web processes for the tests of a file, and a load that meets trouble at each of them in turn. */
export async function openThreeHomes() {
  const { env, webs, people, sql } = await forFile(openWebs([{}, {}, {}]))

  /** Calls `trouble` with each process in turn, under load in which each request is sent once. Returns the answers. */
  async function inTurn(trouble: (web: ServiceProcess) => Promise<void>): Promise<Load[]> {
    const loads: Load[] = []
    for (const [n, web] of [...webs].entries()) {
      const projects = await Promise.all(
        upTo(12).map((i) => make(people[n]!, '/projects', { name: `P${i}` })),
      )
      const load = startLoad({ clients: people, projectIds: projects.map(({ id }) => id), writers: 24 })
      await load.acknowledged(200)
      await trouble(web)
      await load.acknowledged(200)
      await requireKept(sql, load)
      loads.push(load)
    }
    return loads
  }

  async function replace(ended: ServiceProcess): Promise<void> {
    const next = spawnService('web', { ...env, PORT: new URL(ended.url).port })
    webs[webs.indexOf(ended)] = await forFile(next)
  }

  return { inTurn, replace }
}
