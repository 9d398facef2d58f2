import type { Person } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

export interface Message {
  id?: string
  event?: string
  data?: { seq: number; type: string; statusCode?: number; message?: string }
  retry?: string
}

export async function openStream(
  who: Person,
  at: { url: string },
  path: string,
  headers: Record<string, string> = {},
) {
  const over = new AbortController()
  const answer = await fetch(`${at.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${who.token}`, accept: 'text/event-stream', ...headers },
    signal: over.signal,
  })
  return { answer, messages: parseMessages(answer.body!), stop: () => over.abort() }
}

/** A stream as it comes from this very process. */
export async function streamBodyIn(service: TestService, who: Person, path: string) {
  const headers = { authorization: `Bearer ${who.token}`, accept: 'text/event-stream' }
  return (await service.fetch(`/api/v1${path}`, { headers })).body!
}

/** Reads a project's stream in this very process, from now on unless told. */
export async function openStreamIn(service: TestService, who: Person, projectId: string, query = '') {
  const messages = parseMessages(await streamBodyIn(service, who, `/projects/${projectId}/events${query}`))
  await messages.next()
  return messages
}

export async function* parseMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const fields = part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])
      const { data, ...message } = Object.fromEntries(fields)
      yield data === undefined ? message : { ...message, data: JSON.parse(data) }
    }
  }
}

/** The next so many that have a name, fewer when the stream ends. */
export async function takeEvents(
  messages: AsyncGenerator<Message, void, void>,
  count: number,
): Promise<Message[]> {
  const taken: Message[] = []
  while (taken.length < count) {
    const { value, done } = await messages.next()
    if (done) break
    if (value?.event) taken.push(value)
  }
  return taken
}
