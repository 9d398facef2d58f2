import { build } from 'hdr-histogram-js'
import type { PlannedRequest } from './plan.ts'
import { getTask, renameOf } from './requests.ts'
import type { ResourceRef } from './seed.ts'
import { send } from './send.ts'

export interface ClientLatencies {
  readP95Ms: number
  patchP95Ms: number
  /** Responses other than 200. */
  failed: number
}

const everyMs = 20

/** Reads tasks on one connection and patches them on another one, each up to 50 times a second; prints the latencies. */
const [url = '', tasksFile = '', seconds = '1'] = process.argv.slice(2)
const tasks = (await Bun.file(tasksFile).json()) as ResourceRef[]
const end = performance.now() + Number(seconds) * 1_000
let failed = 0
const [readP95Ms, patchP95Ms] = await Promise.all([
  p95Ms(getTask),
  p95Ms((task, n) => ({ ...renameOf(task), body: { title: `Patched ${n}` } })),
])
console.log(JSON.stringify({ readP95Ms, patchP95Ms, failed } satisfies ClientLatencies))
process.exit(0)

async function p95Ms(requestOf: (task: ResourceRef, n: number) => PlannedRequest): Promise<number> {
  const took = build()
  for (let n = 0; performance.now() < end; n++) {
    const began = performance.now()
    const { status } = await send(url, requestOf(tasks[n % tasks.length]!, n))
    took.recordValue(Math.round((performance.now() - began) * 1_000))
    if (status !== 200) failed++
    await Bun.sleep(Math.max(1, began + everyMs - performance.now()))
  }
  return took.getValueAtPercentile(95) / 1_000
}
