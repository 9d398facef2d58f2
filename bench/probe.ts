import type { World } from './seed.ts'
import type { Closers, Servers } from './servers.ts'

export interface Bench {
  servers: Servers
  closers: Closers
  /** The data of `seed`. */
  world: World
  rounds: number
  seconds: number
}

/** Tables with the same head become one table. */
export interface Table {
  head: string[]
  rows: string[][]
}

/** The result of a probe, as the page of results shows it. */
export interface Findings {
  /** A sentence for the beginning of the page. */
  headline?: string
  sentences?: string[]
  table?: Table
  /** The rate as a multiple of that of Postgres alone. */
  bar?: { title: string; ratio: number }
  /** Everything that was measured. */
  figures: unknown
  /** Why the figures do not count. */
  failures?: string[]
}

export interface Probe {
  name: string
  measure(bench: Bench): Promise<Findings>
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en')
export const tenths = (value: number): string => value.toFixed(1)
export const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`
export const times = (ratio: number | undefined): string => (ratio ? `${ratio.toFixed(2)}×` : '–')
export const parts = (micros: Record<string, number>): string => Object.values(micros).map(whole).join(' · ')

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

const atOnce = 64

/** Works on all items, 64 at a time. */
export async function eachOf<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length)
  const left = items.entries()
  const lane = async () => {
    for (const [n, item] of left) results[n] = await work(item)
  }
  await Promise.all(numbers(atOnce).map(lane))
  return results
}
