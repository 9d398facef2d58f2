import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { listen } from '../support/listen.ts'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  body: Message
}
export interface Message {
  type: string
  timestamp: string
  data: { projectId: string; webhookId?: string; events: { seq: number; type: string }[] }
}

export type Respond = (response: ServerResponse, received: Received) => unknown

export type Receiver = Awaited<ReturnType<typeof openReceiver>>

export async function openReceiver(respond: Respond = (response) => response.end('ok')) {
  const received: Received[] = []
  const server: Server = createServer(async (request, response) => {
    request.setEncoding('utf8')
    let text = ''
    for await (const chunk of request) text += chunk
    const one = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) as Message }
    received.push(one)
    await receiver.respond(response, one)
  })
  const { url, close } = await listen(server)
  const receiver = {
    respond,
    received,
    url,
    close,
    seqs: (path = '/') =>
      received
        .filter((one) => one.path === path)
        .flatMap(({ body }) => body.data.events.map(({ seq }) => seq)),
  }
  return receiver
}

export const verified = (secret: string, { text, headers }: Received) =>
  new Webhook(secret).verify(text, headers as Record<string, string>)
