import { readdirSync, readFileSync } from 'node:fs'

const microsPerTick = 10_000 // Linux counts in hundredths of a second
const watchEveryMs = 200

/** Processor time of processes and their children, with ended children; undefined without /proc. */
export function cpuMicros(pids: number[]): number | undefined {
  let ticks = 0
  for (const pid of pids) {
    const own = readStat(pid)
    if (!own) return undefined
    ticks += own.self + own.endedChildren
    for (const child of children(pid)) ticks += readStat(child)?.self ?? 0
  }
  return ticks * microsPerTick
}

/** Resident memory in MiB; undefined without /proc. */
export function residentMiB(pid: number): number | undefined {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`)) ?? []
  return kib ? Number(kib) / 1024 : undefined
}

/** Samples the memory of processes. The returned function ends the sampling and returns the largest value. */
export function watchMemory(pids: number[]): () => number | undefined {
  let peak: number | undefined
  const look = () => {
    for (const pid of pids) {
      const now = residentMiB(pid)
      if (now !== undefined) peak = Math.max(peak ?? 0, now)
    }
  }
  const timer = setInterval(look, watchEveryMs)
  return () => {
    clearInterval(timer)
    look()
    return peak
  }
}

interface Stat {
  parent: number
  self: number
  endedChildren: number
}

function readStat(pid: number): Stat | undefined {
  const text = readText(`/proc/${pid}/stat`)
  // The program's name, in parentheses, may contain anything.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  if (fields.length < 15) return undefined
  return { parent: fields[1]!, self: fields[11]! + fields[12]!, endedChildren: fields[13]! + fields[14]! }
}

const children = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => readStat(pid)?.parent === parent)

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
