import pino from 'pino'

export type Log = pino.Logger

/** The process log: one JSON object a line on standard output. `level` is one of pino's, or `silent`; each line holds `base`. */
export function openLog(level: string, base: { pid: number } | null = null): Log {
  return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime })
}
