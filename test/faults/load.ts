import { applyResponse } from './plan.ts'
import { planNext } from './plans.ts'
import { Random } from './random.ts'
import type { RecordingClient } from './recording-client.ts'
import type { World } from './world.ts'

// With the short timeout, a client often retries at another process while the first attempt still runs.
const [longTimeoutMs, shortTimeoutMs] = [4_000, 300]

export interface LoadSize {
  clients: number
  perSecond: number
  maxOperations: number
}

export function startLoad(
  recorder: RecordingClient,
  world: World,
  seed: number,
  size: LoadSize,
): { stop(): Promise<void> } {
  const pauseMs = (1_000 * size.clients) / size.perSecond
  let isRunning = true
  let left = size.maxOperations

  async function client(n: number): Promise<void> {
    const random = new Random(seed + 1_000 + n)
    await Bun.sleep(random.between(0, pauseMs))
    while (isRunning && left-- > 0) {
      const plan = planNext(world, random)
      // Requests that are not retried leave unknown outcomes.
      const tries = random.chance(0.15) ? 1 : 12
      const timeoutMs = random.chance(0.2) ? shortTimeoutMs : longTimeoutMs
      const web = random.below(recorder.webs)
      applyResponse(plan, await recorder.send(plan.request, { web, tries, timeoutMs }))
      await Bun.sleep(random.between(0.2, 1.8) * pauseMs)
    }
  }
  const clients = Array.from({ length: size.clients }, (_, n) => client(n))
  return {
    async stop() {
      isRunning = false
      await Promise.all(clients)
    },
  }
}
