import { familyOf, type FaultName, faultNames, faults, type Scene } from './faults.ts'
import type { Violation } from './history.ts'
import type { Probe } from './probe.ts'
import type { Random } from './random.ts'
import type { Stand } from './stand.ts'

/** How long a fault was felt. Moments are those of performance.now(). */
export interface Recovery {
  fault: string
  began: number
  recovered: number
}

export interface Nemesis {
  recoveries: Recovery[]
  notes: { what: string; ms: number | undefined }[]
  violations: Violation[]
  strike(names: FaultName[]): Promise<void>
}

export function openNemesis(stand: Stand, probe: Probe, random: Random): Nemesis {
  const nemesis: Nemesis = { recoveries: [], notes: [], violations: [], strike }

  async function strike(names: FaultName[]): Promise<void> {
    const watch = probe.watch()
    const settled = performance.now()
    await watch.recovered(settled, settled)
    const web = random.below(stand.webs.length)
    let began = 0
    const note: Scene['note'] = (what, ms) => void nemesis.notes.push({ what, ms })
    const scene = { stand, probe, random, web, note, strike: () => (began ||= performance.now()) }
    await Promise.all(names.map((name) => faults[name](scene)))
    const recovered = await watch.recovered(began, performance.now())
    await watch.stop()
    const fault = names.join(' + ')
    if (recovered === undefined) {
      nemesis.violations.push({ check: 'recovery', detail: `no full service within 30 s after: ${fault}` })
    }
    nemesis.recoveries.push({ fault, began, recovered: recovered ?? performance.now() })
  }
  return nemesis
}

/** Faults without end: each once in some order, now and then two at the same time. */
export function* endlessFaults(random: Random): Generator<FaultName[]> {
  for (;;) {
    for (const name of random.shuffled(faultNames)) {
      const other = random.pick(faultNames)!
      yield random.chance(0.2) && familyOf(other) !== familyOf(name) ? [name, other] : [name]
    }
  }
}
