import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startAsked } from './asked.ts'

export interface Stream {
  path: string
  token: string
}

/** The events received since the last call. */
export interface Heard {
  deliveries: number
  /** The time of each entity's first event, in milliseconds since 1970. */
  heardAt: [id: string, ms: number][]
}

export interface Listening {
  heard(): Promise<Heard>
  stop(): Promise<void>
}

/** Reads streams in a child process. */
export async function listenTo(folder: string, url: string, streams: Stream[]): Promise<Listening> {
  const file = join(folder, `streams-${streams.length}.json`)
  await writeFile(file, JSON.stringify(streams))
  const { ask, stop } = await startAsked('listeners.ts', [url, file])
  return { heard: async () => JSON.parse(await ask('heard')) as Heard, stop }
}
