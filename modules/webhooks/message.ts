import { eventView } from '../events/schema.ts'
import type { ReadEvent } from '../events/views.ts'

/** Events as they are sent: always the same for the same ones, but for what people are called. */
export const eventsMessage = (projectId: string, events: ReadEvent[]): string =>
  JSON.stringify({
    type: 'events',
    timestamp: events.at(-1)!.at,
    data: { projectId, events: events.map((event) => eventView.of(event)) },
  })

export const testMessage = (projectId: string, webhookId: string): string =>
  JSON.stringify({
    type: 'test',
    timestamp: new Date().toISOString(),
    data: { projectId, webhookId, events: [] },
  })
