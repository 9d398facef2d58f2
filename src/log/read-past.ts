import type { FindPerson } from '../reads/people.ts'
import type { AskedOfLog, LoggedEvent, Past, ReadingPast, ReadPast } from './past.ts'
import type { Entity } from '../model/entities.ts'
import { personIn } from '../model/model.ts'
import { eachOf } from './children.ts'
import type { Sql } from '../postgres/database.ts'
import { gone, type OldestKept } from '../reads/kept.ts'
import { notFound } from '../wire/refusals.ts'
import { goneSince, hangingOn, takenFrom } from './around.ts'
import { askedEvents } from './asked-events.ts'
import { mostUndone, tooMany, tooMuch } from './overtaken.ts'
import { childrenOf } from './told-children.ts'

interface Means {
  sql: Sql
  oldestKept: OldestKept
  findPerson: FindPerson
}

/**
 * Opens the way to what a command asks of the log. The events come first, then the rights that they take, and only then
 * what they brought about. A single plain change costs the event and its people, no more.
 */
export function openReadPast({ sql, oldestKept, findPerson }: Means): ReadPast {
  const person = (key: string) => findPerson({ by: 'id', key })

  /** @throws Refusal 404, 409, 410 */
  async function eventsOf(at: ReadingPast, asked: AskedOfLog): Promise<LoggedEvent[]> {
    const { events, missing, isTooMuch } = await askedEvents(sql, at, asked)
    if (events.length > mostUndone) throw tooMany()
    if (isTooMuch) throw tooMuch()
    if (missing === undefined) return events.sort((a, b) => b.seq - a.seq)
    const oldest = await oldestKept(at.projectId)
    if (oldest !== undefined && missing < oldest && missing <= at.version) throw gone(oldest)
    throw notFound(asked.batch === undefined ? `Event ${missing}` : `Batch ${missing}`)
  }

  /** @throws Refusal 409, 410 */
  async function around(events: LoggedEvent[]): Promise<Omit<Past, 'people'>> {
    if (!events.some(isMore)) return { events, ...nothingMore }
    const of = (type: string) => events.filter((event) => event.type === type)
    const removals = events.filter(({ after }) => !after)
    const [children, since, taken] = await Promise.all([
      childrenOf(sql, of('task.deleted')),
      goneSince(sql, removals, events),
      takenFrom(sql, of('member.removed')),
    ])
    if (children === 'forgotten') {
      const oldest = (await oldestKept(events[0]!.projectId)) ?? events[0]!.seq
      throw oldest > 1 ? gone(oldest) : tooMuch()
    }
    const hanging = await hangingOn(sql, of('task.created'), { events, children })
    return { events, children, ...since, hanging, taken }
  }

  return async (at, asked) => {
    const events = await eventsOf(at, asked)
    asked.authorize(at, events)
    const past = await around(events)
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
  const rows = events.flatMap(({ entity, before, after }) =>
    [before, after].map((row): [Entity, object | null] => [entity, row]),
  )
  const along = [...children.values()].flatMap(eachOf)
  const ids = [...rows, ...along].flatMap(([entity, row]) => {
    const id = row && personIn(entity, row)
    return id ? [id] : []
  })
  return new Set(ids)
}
