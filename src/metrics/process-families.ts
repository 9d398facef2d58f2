import process from 'node:process'
import { Distribution, labelledBy, counter, type Family, gauge, histogram } from './family.ts'

const timerMs = 50

export function openProcessFamilies(): () => Family[] {
  const delays = new Distribution()
  let due = performance.now() + timerMs
  const measure = () => {
    delays.add(Math.max(0, performance.now() - due) / 1_000)
    due = performance.now() + timerMs
  }
  setInterval(measure, timerMs).unref()
  const startedAt = Date.now() / 1_000 - process.uptime()
  return () => {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed, external } = process.memoryUsage()
    const cpu = labelledBy('mode', { user: user / 1e6, system: system / 1e6 })
    return [
      counter('process_cpu_seconds_total', 'CPU time.', cpu),
      gauge('process_resident_memory_bytes', 'Resident memory.', rss),
      gauge('process_heap_bytes', 'JavaScript heap and external memory of its objects.', heapUsed + external),
      gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', startedAt),
      histogram('event_loop_delay_seconds', `Delay of a timer that is due every ${timerMs} ms.`, delays),
    ]
  }
}
