import process from 'node:process'
import type { Family } from '../metrics/family.ts'
import type { Shutdown } from './shutdown.ts'

/** Marks a child of a supervisor. The word never changes, because the parent may run an older release. */
export const childArgument = 'led'

/** `retire`: stop, because a successor is ready. */
export type ParentMessage = 'stop' | 'retire' | 'measure'

export type MetricsMessage = { families: Family[] }

export type ReadyMessage = { port?: number }

export const isChild = (args: string[]): boolean => args[0] === childArgument && process.connected

export const sendToParent = (message: ReadyMessage | MetricsMessage): void => void process.send?.(message)

export function handleParentMessages(shutdown: Shutdown, measure: () => Promise<Family[]>): void {
  const handlers: Record<ParentMessage, () => Promise<void>> = {
    measure: () => measure().then((families) => sendToParent({ families })),
    stop: () => shutdown.stop(0),
    retire: () => shutdown.retire(),
  }
  process.on('message', (message: ParentMessage) => void handlers[message]())
  process.on('disconnect', () => void shutdown.fail(new Error('The parent process has ended')))
  // A terminal sends SIGHUP to all processes, but only the parent handles it.
  process.on('SIGHUP', () => {})
}
