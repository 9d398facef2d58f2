import { readdirSync, readFileSync } from 'node:fs'
import { build } from 'hdr-histogram-js'

const microsPerTick = 10_000 // Linux counts in hundredths of a second.
const sampleEveryMs = 200

/** Returns the processor time of processes and their children in microseconds, with ended children. */
function cpuMicros(pids: number[]): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = all.map(readStat).filter(({ parent }) => pids.includes(parent))
  const own = pids.map(readStat).reduce((sum, { self, endedChildren }) => sum + self + endedChildren, 0)
  return microsPerTick * children.reduce((sum, { self }) => sum + self, own)
}

function readStat(pid: number | string) {
  // The program's name, in parentheses, may contain anything.
  const numbers = /.*\) \S (\d+) (?:\S+ ){9}(\d+) (\d+) (\d+)/s.exec(readText(`/proc/${pid}/stat`)) ?? []
  const [, parent = 0, user = 0, system = 0, endedChildren = 0] = numbers.map(Number)
  return { parent, self: user + system, endedChildren }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // The process has ended.
  }
}

/** Resident memory in MiB. */
export const residentMiB = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024

/** Samples the memory of a process. The returned function ends the sampling and returns the largest value in MiB. */
export function watchMemory(pid: number): () => number {
  let peak = residentMiB(pid)
  const sample = () => (peak = Math.max(peak, residentMiB(pid)))
  const timer = setInterval(sample, sampleEveryMs)
  return () => {
    clearInterval(timer)
    return sample()
  }
}

/** Returns a function that returns the processor time since now in microseconds, divided by `count`, by process. */
export function openMeter(pids: Record<string, number[]>) {
  const read = () => Object.entries(pids).map(([name, some]) => [name, cpuMicros(some)] as const)
  const before = read()
  return (count: number): Record<string, number> =>
    Object.fromEntries(read().map(([name, now], n) => [name, (now - before[n]![1]) / count]))
}

export const sum = (values: Record<string, number>): number =>
  Object.values(values).reduce((total, value) => total + value, 0)

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Returns the medians by the names of the values. */
export const medians = (all: Record<string, number>[]): Record<string, number> =>
  Object.fromEntries(Object.keys(all[0]!).map((name) => [name, median(all.map((one) => one[name]!))]))

export type Times = ReturnType<typeof openTimes>

/** Collects the durations of requests. */
export function openTimes() {
  const taken = build()
  return {
    async of<T>(work: () => Promise<T>): Promise<T> {
      const began = performance.now()
      const result = await work()
      taken.recordValue(Math.round((performance.now() - began) * 1_000))
      return result
    },
    /** Returns a percentile in milliseconds. */
    ms: (percentile: number): number => taken.getValueAtPercentile(percentile) / 1_000,
  }
}

/** Measures requests, each `measured` times after `warmUp` times. They alternate, so that other load affects all of them. */
export async function timesOf(
  { warmUp, measured }: Record<'warmUp' | 'measured', number>,
  ...requests: (() => Promise<unknown>)[]
): Promise<Times[]> {
  const all = requests.map((request) => ({ request, times: openTimes() }))
  for (let n = 0; n < warmUp + measured; n++)
    for (const { request, times } of all) await (n < warmUp ? request() : times.of(request))
  return all.map(({ times }) => times)
}

type Repeated = (n: number) => Promise<unknown>

/** Repeats each request until `load` ends, at most once in `everyMs`, and returns its times. */
export async function repeatUntil(load: Promise<unknown>, everyMs: number, requests: Repeated[]) {
  let isOver = false
  void load.catch(() => {}).finally(() => (isOver = true))
  const repeat = async (request: Repeated) => {
    const times = openTimes()
    for (let n = 0; !isOver; n++) {
      const began = performance.now()
      await times.of(() => request(n))
      await Bun.sleep(Math.max(1, began + everyMs - performance.now()))
    }
    return times
  }
  return Promise.all(requests.map(repeat))
}
