import { expect } from 'bun:test'
import type { Person } from '../../support/client.ts'

interface Service {
  fetch(path: string, init: RequestInit): Promise<Response>
}

interface Message {
  event: string
  data: { state: string; progress: number; undo: { state: string } | null; statusCode?: number }
}

/** Opens the stream of an import. `next` returns the next event, undefined at the end; heartbeats are skipped. */
export async function follow({ fetch }: Service, person: Person, id: string) {
  const headers = { authorization: `Bearer ${person.token}`, accept: 'text/event-stream' }
  const response = await fetch(`/api/v1/imports/${id}/events`, { headers })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  return {
    async next(): Promise<Message | undefined> {
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return undefined
        const [, event, data] = /event: (\w+)\ndata: (.*)\n\n$/.exec(value) ?? []
        if (event) return { event, data: JSON.parse(data!) }
      }
    },
    close: () => reader.cancel(),
  }
}
