import type { Caller } from './caller.ts'
import { settle } from './plan.ts'
import { planNext } from './plans.ts'
import { Random } from './random.ts'
import type { World } from './world.ts'

// The impatient ask again elsewhere while the first try is still under way.
const [patientMs, impatientMs] = [4_000, 300]

export interface LoadSize {
  clients: number
  perSecond: number
  mostOperations: number
}

export function startLoad(
  caller: Caller,
  world: World,
  seed: number,
  size: LoadSize,
): { stop(): Promise<void> } {
  const restMs = (1_000 * size.clients) / size.perSecond
  let going = true
  let left = size.mostOperations

  async function client(n: number): Promise<void> {
    const random = new Random(seed + 1_000 + n)
    await Bun.sleep(random.between(0, restMs))
    while (going && left-- > 0) {
      const plan = planNext(world, random)
      // Some give up at the first failure, so that there are outcomes nobody knows.
      const tries = random.chance(0.15) ? 1 : 12
      const timeoutMs = random.chance(0.2) ? impatientMs : patientMs
      settle(plan, await caller.perform(plan.request, { web: random.below(caller.webs), tries, timeoutMs }))
      await Bun.sleep(random.between(0.2, 1.8) * restMs)
    }
  }
  const clients = Array.from({ length: size.clients }, (_, n) => client(n))
  return {
    async stop() {
      going = false
      await Promise.all(clients)
    },
  }
}
