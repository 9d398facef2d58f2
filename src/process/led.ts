import process from 'node:process'
import type { Family } from '../metrics/family.ts'
import type { Stopping } from './stopping.ts'

/** The word after a command that makes a process one of several that a parent leads. */
export const ledWord = 'led'

/** What a parent tells its child: to end, or to end in favour of another that is up; or asks it how it does. */
export type Order = 'stop' | 'retire' | 'measure'

/** The answer to the last of them. */
export interface Measured {
  families: Family[]
}

/** What a child tells its parent when it is up; one that serves nobody has no port. */
export interface Ready {
  port?: number
}

export const isLed = (words: string[]): boolean => words[0] === ledWord && process.connected

export const tellParent = (told: Ready | Measured): void => void process.send?.(told)

/** Has the process end when its parent says so, or is gone. */
export function obeyParent(stopping: Stopping, measure: () => Promise<Family[]>): void {
  const orders: Record<Order, () => Promise<void>> = {
    measure: () => measure().then((families) => tellParent({ families })),
    stop: () => stopping.stop(0),
    retire: () => stopping.retire(),
  }
  process.on('message', (order: Order) => void orders[order]())
  process.on('disconnect', () => void stopping.fail(new Error('The process that led this one is gone')))
  process.on('SIGHUP', () => {}) // the parent's, though a terminal tells everybody
}
