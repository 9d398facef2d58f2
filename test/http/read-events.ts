import type { Answer, FeedEvent } from '../kit.ts'

export type Event = FeedEvent & { projectId: string }
export interface EventsPage {
  events: Event[]
  after: Record<string, number>
  gone: string[]
}

export const expectEvents = ({ status, body, text }: Answer): EventsPage => {
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  return body as unknown as EventsPage
}
