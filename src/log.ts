import { createRequire } from 'node:module'
import process from 'node:process'
import pino from 'pino'

export type Log = pino.Logger

const warning = 40
const prettyOptions = {
  ignore: 'pid,hostname',
  translateTime: 'SYS:HH:MM:ss.l',
  singleLine: true,
  sync: true,
}

/** Formatted lines on a terminal, else JSON. */
function openOutput(): pino.DestinationStream {
  if (!process.stdout.isTTY) return pino.destination({ fd: 1, sync: true })
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  return pretty({ ...prettyOptions, destination: 1 })
}

export function openLog(level: string, base: { pid: number } | null = null, output = openOutput()): Log {
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, output)
}

/** A log that keeps lines below a warning until `begin` is called, or the process ends. */
export function openBufferedLog(level: string, output = openOutput()) {
  const kept: string[] = []
  let isPatient = true
  const patient = {
    [Symbol.for('pino.metadata')]: true, // has pino say the level of each line
    lastLevel: 0,
    write(line: string) {
      if (isPatient && this.lastLevel < warning) kept.push(line)
      else output.write(line)
    },
  }
  const begin = () => {
    isPatient = false
    for (const line of kept.splice(0)) output.write(line)
  }
  process.once('exit', begin)
  return { log: openLog(level, null, patient), begin }
}
