import { say } from './check-claims.ts'
import type { Operation } from './history.ts'
import type { Span } from './places.ts'
export interface Bound {
  seq: number
  at: number
  because: string
}

/**
 * When each version of a project came to be, as far as clients can tell: not before a request for it began or while
 * an older one was still seen, and not after it was acknowledged or seen. Versions come in order, so what is known
 * of one holds for those after it, or before it.
 */
export class Timeline {
  private readonly earliest: number[] = [-Infinity]
  private readonly latest: number[] = []
  /** Versions for which no moment is left: the history is not linearizable. */
  readonly faults: string[] = []

  constructor(notBefore: Bound[], notAfter: Bound[]) {
    const last = Math.max(0, ...seqsOf(notBefore), ...seqsOf(notAfter))
    const [lower, upper] = [bySeq(notBefore), bySeq(notAfter)]
    let tightest: Bound | undefined
    for (let seq = 1; seq <= last; seq++) {
      for (const bound of lower.get(seq) ?? []) if (!tightest || bound.at > tightest.at) tightest = bound
      this.earliest[seq] = tightest?.at ?? -Infinity
      for (const bound of upper.get(seq) ?? []) {
        if (tightest && tightest.at > bound.at) this.faults.push(contradiction(bound, tightest))
      }
    }
    for (let seq = last, least = Infinity; seq >= 0; seq--) {
      for (const { at } of upper.get(seq) ?? []) least = Math.min(least, at)
      this.latest[seq] = least
    }
  }

  /** True when a state that lasted from version `from` until `before` may have stood between two moments. */
  fits(from: number, before: number, start: number, end: number): boolean {
    const began = this.earliest[Math.min(from, this.earliest.length - 1)] ?? -Infinity
    return began <= end && (this.latest[before] ?? Infinity) >= start
  }
}

const contradiction = (upper: Bound, lower: Bound) =>
  `version ${upper.seq} stood at ${ms(upper.at)} (${upper.because}), ` +
  `version ${lower.seq} came only after ${ms(lower.at)} (${lower.because})`

const ms = (at: number) => `${at.toFixed(1)} ms`

const bySeq = (bounds: Bound[]) => Map.groupBy(bounds, ({ seq }) => seq)

function seqsOf(bounds: Bound[]): number[] {
  return [bounds.reduce((most, { seq }) => (seq < Infinity ? Math.max(most, seq) : most), 0)]
}

/** What all requests together tell about when the versions of each project came. */
export class Bounds {
  private readonly projects = new Map<string, { notBefore: Bound[]; notAfter: Bound[] }>()

  made(projectId: string, seq: number, by: Operation): void {
    this.seen({ projectId, from: seq, before: seq }, by)
  }

  seen({ projectId, from, before }: Span, by: Operation): void {
    const project = this.projects.get(projectId) ?? { notBefore: [], notAfter: [] }
    this.projects.set(projectId, project)
    const because = say(by)
    if (by.end < Infinity) project.notAfter.push({ seq: from, at: by.end, because })
    if (before < Infinity) project.notBefore.push({ seq: before, at: by.start, because })
  }

  timelines(): Map<string, Timeline> {
    const made = [...this.projects].map(([id, { notBefore, notAfter }]) => {
      return [id, new Timeline(notBefore, notAfter)] as const
    })
    return new Map(made)
  }
}
