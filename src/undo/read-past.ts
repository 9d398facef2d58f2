import type { FindPerson } from '../commands/people.ts'
import type { AskedOfLog, LoggedEvent, Past, ReadPast } from '../facts/past.ts'
import type { Sql } from '../postgres/database.ts'
import { gone, type OldestKept } from '../reads/kept.ts'
import { notFound, type Refusal } from '../wire/refusals.ts'
import { goneSince, hangingOn, takenFrom } from './around.ts'
import { type At, openAskedEvents } from './asked-events.ts'
import { childrenOf } from './come-back.ts'
import { mostAround, mostUndone, tooMany, tooMuch } from './limits.ts'

interface Means {
  sql: Sql
  oldestKept: OldestKept
  findPerson: FindPerson
}

/** Opens the way to what a command asks of the log. A single plain change costs the event and its people, no more. */
export function openReadPast({ sql, oldestKept, findPerson }: Means): ReadPast {
  const askedEvents = openAskedEvents(sql)
  const person = (key: string) => findPerson({ by: 'id', key })

  async function notTold({ projectId, version }: At, { seqs = [], batch }: AskedOfLog, told: LoggedEvent[]) {
    const lost = batch ?? seqs.find((seq) => !told.some((event) => event.seq === seq))!
    const oldest = await oldestKept(projectId)
    if (oldest !== undefined && lost < oldest && lost <= version) return gone(oldest)
    return notFound(batch === undefined ? `Event ${lost}` : `Batch ${batch}`)
  }

  async function around(events: LoggedEvent[]): Promise<Omit<Past, 'people'> | Refusal> {
    if (!events.some(isMore)) return { events, ...nothingMore }
    const of = (type: string) => events.filter((event) => event.type === type)
    const removals = events.filter(({ after }) => !after)
    const [children, since, hanging, taken] = await Promise.all([
      childrenOf(sql, of('task.deleted')),
      goneSince(sql, removals, events),
      hangingOn(sql, of('task.created')),
      takenFrom(sql, of('member.removed')),
    ])
    if (children === 'forgotten') return gone((await oldestKept(events[0]!.projectId)) ?? events[0]!.seq)
    const tasks = [...taken.values()].reduce((sum, { length }) => sum + length, 0)
    if (children === 'too much' || hanging.length > mostAround || tasks > mostAround) return tooMuch()
    return { events, children, ...since, hanging, taken }
  }

  return async (at, asked) => {
    const found = await askedEvents(at, asked)
    const events = found.filter((event) => event !== null).sort((a, b) => b.seq - a.seq)
    if (events.length < found.length) return notTold(at, asked, events)
    if (events.length > mostUndone) return tooMany()
    const past = await around(events)
    if ('status' in past) return past
    const people = await Promise.all([...whoIn(past)].map(person))
    return { ...past, people: new Map(people.flatMap((one) => (one ? [[one.id, one]] : []))) }
  }
}

/** Of a change of some fields the log need not tell more. */
const isMore = ({ before, after }: LoggedEvent) => !before || !after
const nothingMore: Omit<Past, 'events' | 'people'> = {
  ...{ children: new Map(), goneAgain: new Set<number>(), elsewhere: new Set<number>() },
  ...{ hanging: [], taken: new Map() },
}

/** Whose names rows show. */
function whoIn({ events, children }: Omit<Past, 'people'>): Set<string> {
  const rows = events.flatMap(({ before, after }) => [before, after])
  const comments = [...children.values()].flatMap((some) => some.comments)
  const ids = [...rows, ...comments].flatMap((row) => {
    const { ownerId, userId, authorId } = (row ?? {}) as Record<string, string | undefined>
    return [ownerId, userId, authorId].filter((id) => id !== undefined)
  })
  return new Set(ids)
}
