import { strikePostgres, strikeReceivers, strikeRedis } from './faults-servers.ts'
import { strikeProcesses } from './faults-processes.ts'
import type { Probe } from './probe.ts'
import type { Random } from './random.ts'
import type { Stand } from './stand.ts'

export interface Scene {
  stand: Stand
  probe: Probe
  random: Random
  web: number
  /** Says "now": from here on the time counts. */
  strike(): void
  note(what: string, ms: number | undefined): void
}

/** Strikes, waits, and mends what it broke. */
export type Fault = (scene: Scene) => Promise<void>

const catalogue = { ...strikeProcesses, ...strikeRedis, ...strikePostgres, ...strikeReceivers }
export type FaultName = keyof typeof catalogue

export const faults: Record<FaultName, Fault> = catalogue
export const faultNames = Object.keys(catalogue) as FaultName[]

/** What a fault breaks: two at once must not break the same thing. */
export const familyOf = (name: FaultName): string =>
  name in strikeRedis ? 'redis' : name in strikePostgres ? 'postgres' : name.split(' ')[0]!
