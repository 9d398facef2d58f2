import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Stream {
  path: string
  token: string
}

/** What was heard since it was asked for last. */
export interface Heard {
  deliveries: number
  /** When each entity was heard of first, in milliseconds since 1970. */
  heardAt: [id: string, ms: number][]
}

export interface Listening {
  heard(): Promise<Heard>
  stop(): Promise<void>
}

/** Listens to streams in a process of its own, which costs the service nothing but the machine. */
export async function listenTo(folder: string, url: string, streams: Stream[]): Promise<Listening> {
  const file = join(folder, `streams-${streams.length}.json`)
  await writeFile(file, JSON.stringify(streams))
  const script = join(import.meta.dirname, 'listeners.ts')
  const child = spawn(process.execPath, ['--no-env-file', script, url, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('Who listened has ended')
    return value
  }
  await next()
  return {
    async heard() {
      child.stdin.write('heard\n')
      return JSON.parse(await next()) as Heard
    },
    async stop() {
      child.kill()
      await exited
    },
  }
}
