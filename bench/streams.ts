import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChildScript } from './child-script.ts'

export interface Stream {
  path: string
  token: string
}

/** The events received since the last call. */
export interface ReceivedEvents {
  deliveries: number
  /** The time of each entity's first event, in milliseconds since 1970. */
  heardAt: [id: string, ms: number][]
}

export interface StreamReader {
  heard(): Promise<ReceivedEvents>
  stop(): Promise<void>
}

export async function openStreams(folder: string, url: string, streams: Stream[]): Promise<StreamReader> {
  const file = join(folder, `streams-${streams.length}.json`)
  await writeFile(file, JSON.stringify(streams))
  const { ask, stop } = await startChildScript('stream-reader.ts', [url, file])
  return { heard: async () => JSON.parse(await ask('heard')) as ReceivedEvents, stop }
}
