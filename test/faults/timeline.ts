import { label, type Operation } from './history.ts'
import type { VersionRange } from './state-ranges.ts'

export interface Bound {
  seq: number
  at: number
  because: string
}

/**
 * The earliest and latest time at which each version can have been created: not before the start of its request, not
 * while an older version was still read, and not after it was acknowledged or read. Versions are created in order, so
 * a lower bound of a version also holds for later versions, and an upper bound for earlier versions.
 */
export class Timeline {
  private readonly earliest: number[] = [-Infinity]
  private readonly latest: number[] = []
  /** Versions whose bounds contradict each other: the history is not linearizable. */
  readonly errors: string[] = []

  constructor(notBefore: Bound[], notAfter: Bound[]) {
    const last = [...notBefore, ...notAfter].reduce((max, { seq }) => Math.max(max, seq), 0)
    const lower = Map.groupBy(notBefore, ({ seq }) => seq)
    const upper = Map.groupBy(notAfter, ({ seq }) => seq)
    let tightest: Bound | undefined
    for (let seq = 1; seq <= last; seq++) {
      for (const bound of lower.get(seq) ?? []) if (!tightest || bound.at > tightest.at) tightest = bound
      this.earliest[seq] = tightest?.at ?? -Infinity
      for (const bound of upper.get(seq) ?? [])
        if (tightest && tightest.at > bound.at) this.errors.push(contradiction(bound, tightest))
    }
    for (let seq = last, least = Infinity; seq >= 0; seq--) {
      for (const { at } of upper.get(seq) ?? []) least = Math.min(least, at)
      this.latest[seq] = least
    }
  }

  overlaps(from: number, before: number, start: number, end: number): boolean {
    const began = this.earliest[Math.min(from, this.earliest.length - 1)] ?? -Infinity
    return began <= end && (this.latest[before] ?? Infinity) >= start
  }
}

const contradiction = (upper: Bound, lower: Bound) =>
  `version ${upper.seq} existed at ${ms(upper.at)} (${upper.because}), ` +
  `version ${lower.seq} did not exist before ${ms(lower.at)} (${lower.because})`

const ms = (at: number) => `${at.toFixed(1)} ms`

export class Bounds {
  private readonly projects = new Map<string, { notBefore: Bound[]; notAfter: Bound[] }>()

  created(projectId: string, seq: number, cause: Operation): void {
    this.observed({ projectId, from: seq, before: seq }, cause)
  }

  observed({ projectId, from, before }: VersionRange, operation: Operation): void {
    const project = this.projects.get(projectId) ?? { notBefore: [], notAfter: [] }
    this.projects.set(projectId, project)
    const because = label(operation)
    if (operation.end < Infinity) project.notAfter.push({ seq: from, at: operation.end, because })
    if (before < Infinity) project.notBefore.push({ seq: before, at: operation.start, because })
  }

  timelines(): Map<string, Timeline> {
    const all = [...this.projects].map(([id, { notBefore, notAfter }]) => {
      return [id, new Timeline(notBefore, notAfter)] as const
    })
    return new Map(all)
  }
}
