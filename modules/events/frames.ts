import { LRUCache } from 'lru-cache'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { eventsAt } from './queries.ts'
import { eventView } from './schema.ts'

/** Events read at once, at most; stretches kept for those who listen at the same place, and how long. */
const mostAtOnce = 100
const keptStretches = 64
const keptMs = 2_000

/** A stretch of a feed as streams send it. */
export interface Frames {
  events: { type: string; text: string }[]
  /** All of them. */
  bytes: Uint8Array<ArrayBuffer>
  upTo: number
}

const utf8 = new TextEncoder()
export const encode = (text: string) => utf8.encode(text)

/** Reads and encodes what comes after a seq, once for all who listen there. */
export function openFrames(means: Pick<Services, 'database' | 'oldestKept'>) {
  const kept = new LRUCache<string, Promise<Frames>>({ max: keptStretches, ttl: keptMs })

  async function read(seen: Seen, after: number): Promise<Frames> {
    const { events, upTo } = await eventsAt(means, seen, { after, limit: mostAtOnce, types: null })
    const framed = events.map((event) => {
      const data = JSON.stringify(eventView.of(event))
      return { type: event.type, text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${data}\n\n` }
    })
    return { events: framed, bytes: encode(framed.map(({ text }) => text).join('')), upTo }
  }

  return (seen: Seen, after: number): Promise<Frames> => {
    const key = `${seen.projectId} ${after}`
    const known = kept.get(key)
    if (known) return known
    const made = read(seen, after)
    kept.set(key, made)
    made.catch(() => kept.delete(key))
    return made
  }
}
