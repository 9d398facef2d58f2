import { say } from './check-claims.ts'
import type { Operation } from './history.ts'
import type { Span } from './places.ts'
import { type Bound, Timeline } from './timeline.ts'

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
