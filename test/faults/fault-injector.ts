import type { Deployment } from './deployment.ts'
import { type FaultName, faultNames, faults, partOf } from './faults.ts'
import type { Violation } from './history.ts'
import type { Probe } from './probe.ts'
import type { Random } from './random.ts'

/** Times are from performance.now(), in milliseconds. */
export interface Recovery {
  fault: string
  began: number
  recovered: number
}

export type FaultInjector = ReturnType<typeof openFaultInjector>

export function openFaultInjector(deployment: Deployment, probe: Probe, random: Random) {
  const recoveries: Recovery[] = []
  const violations: Violation[] = []

  async function inject(names: FaultName[]): Promise<void> {
    const watch = probe.watch()
    const now = performance.now()
    await watch.recovered(now, now)
    const web = random.below(deployment.webs.length)
    let began = 0
    const start = () => (began ||= performance.now())
    await Promise.all(names.map((name) => faults[name]({ deployment, probe, random, web, start })))
    const recovered = await watch.recovered(began, performance.now())
    await watch.stop()
    const fault = names.join(' + ')
    if (recovered === undefined)
      violations.push({ check: 'recovery', detail: `no full recovery within 30 s after: ${fault}` })
    recoveries.push({ fault, began, recovered: recovered ?? performance.now() })
  }
  return { recoveries, violations, inject }
}

export function* endlessFaults(random: Random): Generator<FaultName[]> {
  for (;;) {
    for (const name of random.shuffled(faultNames)) {
      const other = random.pick(faultNames)!
      yield random.chance(0.2) && partOf(other) !== partOf(name) ? [name, other] : [name]
    }
  }
}
