import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../../src/local/server.ts'
import { Random } from './random.ts'

export interface Receiver {
  secret: string
  /** The seq of the last accepted event; at first, the version of the project when the webhook was created. */
  last: number
  /** The accepted events, each once. */
  accepted: object[]
  /** The body of each delivery, by its id. */
  bodies: Map<string, string>
}

type Respond = (response: ServerResponse) => unknown

const behaviors: Record<string, Respond> = {
  ok: (response) => response.writeHead(204).end(),
  serverError: (response) => response.writeHead(500).end('It did not work'),
  tooManyRequests: (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  reset: (response) => response.socket?.destroy(),
  /** Sends 200, and closes the connection before the end of the body. */
  partialBody: (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('o')
    setTimeout(() => response.socket?.destroy(), 20)
  },
}
const weights = { ok: 68, serverError: 8, tooManyRequests: 4, reset: 6, partialBody: 4 }

export type Receivers = Awaited<ReturnType<typeof openReceivers>>

/** Opens webhook receivers at the paths /0, /1 …, which fail at random, and check each delivery at its arrival. */
export async function openReceivers(random = new Random(1)) {
  const port = await freePort()
  let server: Server
  const receivers = {
    url: `http://127.0.0.1:${port}`,
    all: [] as Receiver[],
    errors: [] as string[],
    isReliable: false,
    async up() {
      server = createServer((request, response) => void handle(request, response).catch(() => {}))
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    },
    async down() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const receiver = receivers.all[Number(request.url!.slice(1))]!
    const errors = receive(receiver, request.headers as Record<string, string>, text)
    receivers.errors.push(...errors.map((error) => `the receiver ${request.url} got ${error}`))
    const behavior = receivers.isReliable ? 'ok' : random.weighted(weights)
    if (!receivers.isReliable && random.chance(0.1)) await Bun.sleep(random.between(50, 2_000))
    if (behavior === 'ok' || behavior === 'partialBody') accept(receiver, text)
    behaviors[behavior]!(response)
  }
  await receivers.up()
  return receivers
}

const eventsIn = (text: string) => (JSON.parse(text) as { data: { events: { seq: number }[] } }).data.events

/** Checks the signature of a delivery, that its events follow the accepted events, and that a retry has the same body. */
export function receive(
  { secret, last, bodies }: Receiver,
  headers: Record<string, string>,
  text: string,
): string[] {
  const id = headers['webhook-id']!
  const seqs = eventsIn(text).map(({ seq }) => seq)
  const isInOrder = seqs[0]! <= last + 1 && seqs.every((seq, n) => seq === seqs[0]! + n)
  const isSame = (bodies.get(id) ?? text) === text
  bodies.set(id, text)
  return [
    ...(isSigned(secret, headers, text) ? [] : [`${id} with a wrong signature`]),
    ...(isInOrder ? [] : [`the events ${seqs.join()} after ${last}`]),
    ...(isSame ? [] : [`${id} again with another body`]),
  ]
}

function isSigned(secret: string, headers: Record<string, string>, text: string): boolean {
  try {
    new Webhook(secret).verify(text, headers)
    return true
  } catch {
    return false
  }
}

export function accept(receiver: Receiver, text: string): void {
  for (const event of eventsIn(text)) {
    if (event.seq <= receiver.last) continue
    receiver.accepted.push(event)
    receiver.last = event.seq
  }
}
