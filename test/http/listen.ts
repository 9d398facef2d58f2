import type { Person } from '../support/client.ts'

export interface Message {
  id?: string
  event?: string
  data?: { seq: number; type: string; statusCode?: number; message?: string }
  retry?: string
}

/** Reads a stream, message by message. */
export async function listen(
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
  return { answer, messages: messagesOf(answer.body!), stop: () => over.abort() }
}

/** Reads a project's stream in this very process, from now on unless told. */
export async function listenIn(
  app: { fetch(request: Request): Response | Promise<Response> },
  who: Person,
  projectId: string,
  query = '',
) {
  const headers = { authorization: `Bearer ${who.token}`, accept: 'text/event-stream' }
  const url = `http://localhost/api/v1/projects/${projectId}/events${query}`
  const { body } = await app.fetch(new Request(url, { headers }))
  const messages = messagesOf(body!)
  await messages.next()
  return messages
}

export async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, void, void> {
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
export async function take(messages: AsyncGenerator<Message, void, void>, count: number): Promise<Message[]> {
  const taken: Message[] = []
  while (taken.length < count) {
    const { value, done } = await messages.next()
    if (done) break
    if (value?.event) taken.push(value)
  }
  return taken
}
