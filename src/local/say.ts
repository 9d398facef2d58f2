/** Told what the own servers do; `takesLong` is what whoever waits wants to know at once. */
export type Say = (message: string, takesLong?: boolean) => void

/** A start of own servers: where it reports to, and what has it given up. */
export interface Starting {
  log: Say
  signal: AbortSignal
}
