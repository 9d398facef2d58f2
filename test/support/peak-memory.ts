import { existsSync, readFileSync } from 'node:fs'

/** Returns the peak resident memory of a process in MiB; 0 on a system without /proc. */
export function peakMib(pid: number): number {
  const path = `/proc/${pid}/status`
  const [, kib = '0'] = (existsSync(path) && /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(path, 'utf8'))) || []
  return Number(kib) / 1024
}
