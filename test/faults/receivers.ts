import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { freePort } from '../../src/local/server.ts'
import { digest } from './check-lists.ts'
import { Random } from './random.ts'

export interface Delivery {
  path: string
  id: string
  /** Numbers that order the arrivals and acceptances of all deliveries. */
  received: number
  accepted: number | undefined
  projectId: string
  seqs: number[]
  events: string[]
  body: string
}

export interface SignedRequest {
  delivery: Delivery
  text: string
  headers: Record<string, string>
}

export type Receivers = Awaited<ReturnType<typeof openReceivers>>

export async function openReceivers(random = new Random(1)) {
  const port = await freePort()
  const waiting = new Set<ServerResponse>()
  let fixed: Behavior | undefined
  let steps = 0
  let server: Server

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const behavior = fixed ?? randomBehavior(random)
    if (behavior === 'reset' && random.chance(0.5)) return void request.socket.destroy()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const delivery = readDelivery(request, text, ++steps)
    receivers.deliveries.push(delivery)
    receivers.verify({ delivery, text, headers: request.headers as Record<string, string> })
    const isSilent = behavior === 'silent' || fixed === 'silent'
    if (isSilent) waiting.add(response)
    else await behaviors[behavior]({ response, random, accept: () => (delivery.accepted = ++steps) })
  }

  const receivers = {
    url: `http://127.0.0.1:${port}`,
    deliveries: [] as Delivery[],
    steps: () => steps,
    /** Called when a request arrives, because the signature of the request expires. */
    verify: (_: SignedRequest): void => {},
    /** Sets the behavior of all receivers; without an argument, each request gets a random behavior again. */
    behave(next?: Behavior) {
      fixed = next
      for (const response of waiting) response.socket?.destroy()
      waiting.clear()
    },
    async up() {
      server = createServer((request, response) => void handle(request, response).catch(() => {}))
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    },
    async down() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await receivers.up()
  return receivers
}

function readDelivery({ url = '', headers }: IncomingMessage, text: string, received: number): Delivery {
  const { data } = JSON.parse(text) as { data: { projectId: string; events: { seq: number }[] } }
  return {
    ...{ path: url, id: String(headers['webhook-id']), received, accepted: undefined, body: digest(text) },
    projectId: data.projectId,
    seqs: data.events.map(({ seq }) => seq),
    events: data.events.map((event) => digest(JSON.stringify(event))),
  }
}

interface Exchange {
  response: ServerResponse
  random: Random
  accept(): void
}

const behaviors = {
  ok: ({ response, accept }: Exchange) => {
    accept()
    response.writeHead(204).end()
  },
  slow: async (exchange: Exchange) => {
    await Bun.sleep(exchange.random.between(50, 2_000))
    behaviors.ok(exchange)
  },
  serverError: ({ response }: Exchange) => response.writeHead(500).end('It did not work'),
  tooManyRequests: ({ response }: Exchange) => response.writeHead(429, { 'retry-after': '1' }).end(),
  redirect: ({ response }: Exchange) => response.writeHead(302, { location: '/elsewhere' }).end(),
  gone: ({ response }: Exchange) => response.writeHead(410).end(),
  reset: ({ response }: Exchange) => response.socket?.destroy(),
  /** Sends 200, and closes the connection before the end of the body. */
  partialBody: ({ response, accept }: Exchange) => {
    accept()
    response.writeHead(200, { 'content-length': '100' }).write('o')
    setTimeout(() => response.socket?.destroy(), 20)
  },
  silent: () => {},
}
type Behavior = keyof typeof behaviors

const randomBehavior = (random: Random): Behavior =>
  random.weighted({
    ...{ ok: 60, slow: 8, serverError: 6, tooManyRequests: 4, redirect: 2, gone: 2 },
    ...{ reset: 5, partialBody: 3, silent: 2 },
  })
