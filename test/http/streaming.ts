import type { Person } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

export interface Message {
  id?: string
  event?: string
  data?: { seq: number; type: string; statusCode?: number; message?: string }
  retry?: string
}

const headersOf = ({ token }: Person) => ({ authorization: `Bearer ${token}`, accept: 'text/event-stream' })

export async function openStream(client: Person, at: { url: string }, path: string, headers: object = {}) {
  const abort = new AbortController()
  const init = { headers: { ...headersOf(client), ...headers }, signal: abort.signal }
  const answer = await fetch(`${at.url}/api/v1${path}`, init)
  return { answer, messages: parseMessages(answer.body!), stop: () => abort.abort() }
}

export async function streamBodyIn(service: TestService, client: Person, path: string, headers: object = {}) {
  return (await service.fetch(`/api/v1${path}`, { headers: { ...headersOf(client), ...headers } })).body!
}

/** Opens a project's stream in a service of this process, and reads the first message, which has no event name. */
export async function openStreamIn(service: TestService, client: Person, projectId: string, query = '') {
  const messages = parseMessages(await streamBodyIn(service, client, `/projects/${projectId}/events${query}`))
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

/** Returns the next `count` messages with an event name; fewer when the stream ends. */
export async function takeEvents(messages: AsyncGenerator<Message, void>, count: number) {
  const taken: Message[] = []
  while (taken.length < count) {
    const { value, done } = await messages.next()
    if (done) break
    if (value?.event) taken.push(value)
  }
  return taken
}
