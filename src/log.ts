import pino from 'pino'

export type Log = pino.Logger

/** The process log: one JSON object a line on standard output. `level` is one of pino's, or `silent`. */
export function openLog(level: string): Log {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime })
}
