import process from 'node:process'
import { Distribution } from './distribution.ts'
import { labelledBy, counter, type Family, gauge, histogram } from './family.ts'

const timerMs = 50

/** The metrics of any process. The event loop is watched from the first call on. */
export function openProcessFamilies(): () => Family[] {
  const delays = new Distribution()
  let due = performance.now() + timerMs
  const late = () => {
    delays.add(Math.max(0, performance.now() - due) / 1_000)
    due = performance.now() + timerMs
  }
  setInterval(late, timerMs).unref()
  const startedAt = Date.now() / 1_000 - process.uptime()
  return () => {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    const cpu = labelledBy('mode', { user: user / 1e6, system: system / 1e6 })
    return [
      counter('process_cpu_seconds_total', 'Processor time.', cpu),
      gauge('process_resident_memory_bytes', 'Resident memory.', rss),
      gauge('process_heap_bytes', 'Objects, and what they hold outside the heap.', heapUsed + external),
      gauge('process_start_time_seconds', 'When the process began, since 1970.', startedAt),
      histogram('event_loop_delay_seconds', `How late a timer of every ${timerMs} ms was.`, delays),
    ]
  }
}
