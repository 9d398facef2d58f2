import { createRequire } from 'node:module'
import process from 'node:process'
import pino from 'pino'

export type Log = pino.Logger

function openOutput(): pino.DestinationStream {
  if (!process.stdout.isTTY) return pino.destination({ fd: 1, sync: true })
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const format = { ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }
  return pretty({ ...format, sync: true, destination: 1 })
}

export function openLog(level: string, base: { pid: number } | null = null, output = openOutput()): Log {
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, output)
}
