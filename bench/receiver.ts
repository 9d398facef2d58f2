import { createInterface } from 'node:readline'
import { build } from 'hdr-histogram-js'
import type { DeliveryStats } from './receiving.ts'

// Receives deliveries and records the delay of each event. Service and receiver share one clock.
let late = build()
let [events, posts] = [0, 0]

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { data } = (await request.json()) as { data: { events: { at: string }[] } }
    for (const { at } of data.events) late.recordValue(Math.max(Date.now() - Date.parse(at), 0))
    events += data.events.length
    posts++
    return new Response(null, { status: 204 })
  },
})
console.log(server.url.href)
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'afresh') {
    late = build()
    ;[events, posts] = [0, 0]
  }
  const [p50Ms, p99Ms] = [late.getValueAtPercentile(50), late.getValueAtPercentile(99)]
  const delivered: DeliveryStats = { events, posts, p50Ms, p99Ms }
  console.log(JSON.stringify(delivered))
})
