import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { freePort } from '../../src/local/port.ts'
import { digest } from './check-lists.ts'
import { Random } from './random.ts'

export interface Received {
  path: string
  id: string
  /** Of all that happens at receivers, the how manieth it was that it came, and that it was accepted. */
  came: number
  accepted: number | undefined
  projectId: string
  seqs: number[]
  events: string[]
  whole: string
}

export interface Letter {
  received: Received
  text: string
  headers: Record<string, string>
}

export type Receivers = Awaited<ReturnType<typeof openReceivers>>

/** Receivers of webhooks, one at each path, who answer as they like until they are told to be kind. */
export async function openReceivers(random = new Random(1)) {
  const port = await freePort()
  const held = new Set<ServerResponse>()
  let mood: Mood | undefined
  let steps = 0
  let server: Server

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const now = mood ?? someMood(random)
    if (now === 'cutting' && random.chance(0.5)) return void request.socket.destroy()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const received = readDelivery(request, text, ++steps)
    receivers.received.push(received)
    receivers.verify({ received, text, headers: request.headers as Record<string, string> })
    const silent = now === 'silent' || mood === 'silent'
    if (silent) held.add(response)
    await moods[silent ? 'silent' : now]({ response, random, accept: () => (received.accepted = ++steps) })
  }

  const receivers = {
    url: `http://127.0.0.1:${port}`,
    received: [] as Received[],
    steps: () => steps,
    /** What is done with each delivery as it comes, for signatures hold only for a while. */
    verify: (_: Letter): void => {},
    /** All are so from now on; without one, each as chance has it. Who was kept waiting is let go. */
    be(next?: Mood) {
      mood = next
      for (const response of held) response.socket?.destroy()
      held.clear()
    },
    async up() {
      server = createServer((request, response) => void take(request, response).catch(() => {}))
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

function readDelivery({ url = '', headers }: IncomingMessage, text: string, came: number): Received {
  const { data } = JSON.parse(text) as { data: { projectId: string; events: { seq: number }[] } }
  return {
    ...{ path: url, id: String(headers['webhook-id']), came, accepted: undefined, whole: digest(text) },
    projectId: data.projectId,
    seqs: data.events.map(({ seq }) => seq),
    events: data.events.map((event) => digest(JSON.stringify(event))),
  }
}

export interface Taken {
  response: ServerResponse
  random: Random
  /** From now on the sender may know that all is well. */
  accept(): void
}

export const moods = {
  kind: ({ response, accept }: Taken) => {
    accept()
    response.writeHead(204).end()
  },
  late: async (taken: Taken) => {
    await Bun.sleep(taken.random.between(50, 2_000))
    moods.kind(taken)
  },
  broken: ({ response }: Taken) => response.writeHead(500).end('It did not work'),
  busy: ({ response }: Taken) => response.writeHead(429, { 'retry-after': '1' }).end(),
  leadingElsewhere: ({ response }: Taken) => response.writeHead(302, { location: '/elsewhere' }).end(),
  gone: ({ response }: Taken) => response.writeHead(410).end(),
  cutting: ({ response }: Taken) => response.socket?.destroy(),
  /** It says that all is well, and goes in the middle of saying more. */
  breakingOff: ({ response, accept }: Taken) => {
    accept()
    response.writeHead(200, { 'content-length': '100' }).write('o')
    setTimeout(() => response.socket?.destroy(), 20)
  },
  silent: () => {},
}
export type Mood = keyof typeof moods

/** Mostly well, so that there is something to lose. */
export const someMood = (random: Random): Mood =>
  random.weighted({
    ...{ kind: 60, late: 8, broken: 6, busy: 4, leadingElsewhere: 2, gone: 2 },
    ...{ cutting: 5, breakingOff: 3, silent: 2 },
  })
