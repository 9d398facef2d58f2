import { build } from 'hdr-histogram-js'
import type { PlannedRequest } from './plan.ts'
import { send } from './send.ts'

const everyMs = 10

export interface SteadyLoad {
  url: string
  requests: PlannedRequest[]
  seconds: number
  perSecond: number
  /** Called with each created row when it is acknowledged. */
  onCreated?: (answer: Response) => void
}

/** Sends creates at a steady rate, independent of the response times. */
export async function createAtRate({
  url,
  requests,
  seconds,
  perSecond: rate,
  onCreated: onMade,
}: SteadyLoad) {
  const took = build()
  const answers: Promise<void>[] = []
  const create = async (request: PlannedRequest) => {
    const began = performance.now()
    const answer = await send(url, request)
    if (answer.status !== 201) throw new Error(`A create was answered ${answer.status}`)
    took.recordValue(Math.round((performance.now() - began) * 1_000))
    onMade?.(answer)
  }
  const began = performance.now()
  const total = rate * seconds
  while (answers.length < total) {
    const due = Math.min(total, ((performance.now() - began) / 1_000) * rate)
    while (answers.length < due) answers.push(create(requests[answers.length % requests.length]!))
    await Bun.sleep(everyMs)
  }
  await Promise.all(answers)
  const perSecond = total / ((performance.now() - began) / 1_000)
  const at = (percentile: number) => took.getValueAtPercentile(percentile) / 1_000
  return { total, perSecond, p50Ms: at(50), p99Ms: at(99) }
}
