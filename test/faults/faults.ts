import type { Deployment } from './deployment.ts'
import type { Probe } from './probe.ts'
import { processFaults } from './deployment.ts'
import type { Random } from './random.ts'
import { postgresFaults, receiverFaults, redisFaults } from './deployment.ts'

export interface FaultContext {
  deployment: Deployment
  probe: Probe
  random: Random
  web: number
  /** Called just before the fault, when the time to recovery starts. */
  start(): void
}

export type Fault = (context: FaultContext) => Promise<void>

const catalogue = { ...processFaults, ...redisFaults, ...postgresFaults, ...receiverFaults }
export type FaultName = keyof typeof catalogue

export const faults: Record<FaultName, Fault> = catalogue
export const faultNames = Object.keys(catalogue) as FaultName[]

/** The part that a fault breaks. Two faults at the same time must break different parts. */
export const partOf = (name: FaultName): string =>
  name in redisFaults ? 'redis' : name in postgresFaults ? 'postgres' : name.split(' ')[0]!
