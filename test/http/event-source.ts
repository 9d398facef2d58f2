import { EventSource } from 'eventsource'
import { type FeedEvent, model } from '../kit.ts'

export function followByEventSource(url: string, token: string, projectId: string) {
  const source = new EventSource(`${url}/api/v1/projects/${projectId}/events?after=0`, {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
  })
  const events: FeedEvent[] = []
  let [wanted, reached] = [0, () => {}]
  for (const type of model.eventTypes)
    source.addEventListener(type, ({ data }) => {
      events.push(JSON.parse(data))
      if (events.length >= wanted) reached()
    })
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      ;[wanted, reached] = [count, resolve]
      if (events.length >= count) resolve()
    })
  return { events, until, close: () => source.close() }
}
