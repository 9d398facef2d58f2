import { createRequire } from 'node:module'
import process from 'node:process'
import pino from 'pino'

export type Log = pino.Logger

const warning = 40

function openOutput(): pino.DestinationStream {
  if (!process.stdout.isTTY) return pino.destination({ fd: 1, sync: true })
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const format = { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }
  return pretty({ ...format, sync: true, destination: 1 })
}

export function openLog(level: string, base: { pid: number } | null = null, output = openOutput()): Log {
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, output)
}

/** Opens a log that buffers lines below a warning until `begin` is called or the process ends. */
export function openBufferedLog(level: string, output = openOutput()) {
  const lines: string[] = []
  let isBuffering = true
  const buffer = {
    // Makes pino set `lastLevel` before each write.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      if (isBuffering && this.lastLevel < warning) lines.push(line)
      else output.write(line)
    },
  }
  const begin = () => {
    isBuffering = false
    for (const line of lines.splice(0)) output.write(line)
  }
  process.once('exit', begin)
  return { log: openLog(level, null, buffer), begin }
}
