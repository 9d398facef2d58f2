import type { ServerResponse } from 'node:http'
import type { Random } from './random.ts'

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
