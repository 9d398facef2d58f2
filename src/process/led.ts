import process from 'node:process'
import type { Family } from '../metrics/family.ts'
import type { Stopping } from './stopping.ts'

/** The word after a command that makes a process a child. */
export const ledWord = 'led'

/** From the parent. `retire`: end in favour of another process that is up. */
export type Order = 'stop' | 'retire' | 'measure'

export type Measured = { families: Family[] }

/** From a child that is up; a worker has no port. */
export type Ready = { port?: number }

export const isLed = (words: string[]): boolean => words[0] === ledWord && process.connected

export const tellParent = (told: Ready | Measured): void => void process.send?.(told)

/** Ends the process when its parent says so, or has ended. */
export function obeyParent(stopping: Stopping, measure: () => Promise<Family[]>): void {
  const orders: Record<Order, () => Promise<void>> = {
    measure: () => measure().then((families) => tellParent({ families })),
    stop: () => stopping.stop(0),
    retire: () => stopping.retire(),
  }
  process.on('message', (order: Order) => void orders[order]())
  process.on('disconnect', () => void stopping.fail(new Error('The process that led this one is gone')))
  process.on('SIGHUP', () => {}) // for the parent, but a terminal sends it to all
}
