import type { Person } from '../support/client.ts'
import type { TestService } from '../support/service.ts'
import { expectEvents, type FeedEvent } from './feed.ts'
import { nextPath } from './list-pages.ts'
import { parseMessages, streamBodyIn } from './streaming.ts'

/** The projects and the filter of a client that reads events, and the process that it asks. */
export interface Reading {
  service: TestService
  by: Person
  ids: string[]
  filter: { types?: string[]; exceptActor?: string }
}

/** Returns the next events of a project; none if the service has left out events. */
type ReadNext = () => Promise<FeedEvent[]>
type IsLast = (event: FeedEvent) => boolean

/** Returns a function that reads the later events of each project, up to the first event that is the last. */
type Way = (reading: Reading) => (isLast: IsLast) => Promise<FeedEvent[][]>

export const queryOf = ({ types, exceptActor }: Reading['filter']): string =>
  Object.entries({ types, exceptActor })
    .map(([name, value]) => (value ? `&${name}=${value.toString()}` : ''))
    .join('')

/** A way to read one project after another. */
const ofOne =
  (open: (reading: Reading, path: string) => ReadNext): Way =>
  (reading) => {
    const readers = reading.ids.map((id) => open(reading, `/projects/${id}/events`))
    return (isLast) => Promise.all(readers.map((next) => readTo(isLast, next)))
  }

async function readTo(isLast: IsLast, next: ReadNext): Promise<FeedEvent[]> {
  const events: FeedEvent[] = []
  while (!events.some(isLast)) events.push(...(await next()))
  return events
}

const pages = (wait: number) =>
  ofOne(({ service, by, filter }, path) => {
    const client = service.client.as(by.token)
    let after = 0
    return async () => {
      const { body, headers } = await client.get(
        `${path}?after=${after}&limit=7&wait=${wait}${queryOf(filter)}`,
      )
      const next = new URLSearchParams(nextPath(headers)?.split('?')[1])
      after = Number(next.get('after') ?? headers.get('docket-version'))
      if (wait > 0) expect(body).not.toHaveLength(0)
      return body as unknown as FeedEvent[]
    }
  })

const reads =
  (wait: number): Way =>
  ({ service, by, ids, filter: { types, exceptActor } }) => {
    const client = service.client.as(by.token)
    let after = Object.fromEntries(ids.map((id) => [id, 0]))
    return async (isLast) => {
      const received = new Map(ids.map((id) => [id, [] as FeedEvent[]]))
      while (![...received.values()].every((events) => events.some(isLast))) {
        const page = expectEvents(await client.post('/events/read', { after, wait, limit: 7, exceptActor }))
        expect(page.events.length).toBeLessThanOrEqual(7)
        if (wait > 0) expect(page.after).not.toEqual(after)
        after = page.after
        for (const { projectId, ...event } of page.events)
          if (!types || types.includes(event.type)) received.get(projectId)!.push(event)
      }
      return [...received.values()]
    }
  }

/** @param most the number of messages after which the client opens the stream again */
const stream = (most: number) =>
  ofOne(({ service, by, filter }, path) => {
    let [count, lastId] = [0, '0']
    let messages: ReturnType<typeof parseMessages> | undefined
    return async () => {
      const headers = { 'last-event-id': lastId }
      messages ??= parseMessages(await streamBodyIn(service, by, `${path}?${queryOf(filter)}`, headers))
      const { value, done } = await messages.next()
      if (done || value.event === 'end') throw new Error(`The stream ended: ${JSON.stringify(value)}`)
      lastId = value.id ?? lastId
      if (++count % most === 0) {
        await messages.return()
        messages = undefined
      }
      return value.data ? [value.data as unknown as FeedEvent] : []
    }
  })

/** Ways that wait for events, so that a client reads while others write. */
export const waitingWays = {
  'long polls': pages(25),
  'waiting reads': reads(25),
  'a stream': stream(Infinity),
  'a stream that breaks often': stream(5),
}
export const otherWays = { pages: pages(0), reads: reads(0) }
