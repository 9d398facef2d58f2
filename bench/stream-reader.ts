import { connect } from 'node:net'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// Reads streams and counts their events. For each line of input, it prints the count and the time of each entity's first event.
const [url = '', file = ''] = process.argv.slice(2)
const streams = JSON.parse(readFileSync(file, 'utf8')) as { path: string; token: string }[]
const { hostname, port } = new URL(url)
const atOnce = 100
const pauseMs = 200

let deliveries = 0
let notes = new Map<string, number>()
const isNoting = streams.length <= 2_000
const mark = Buffer.from('\nevent: ')
const entity = /"entityId":"([^"]+)"/g

/** Resolves when the response has begun; retries after 503. */
async function subscribe(stream: { path: string; token: string }): Promise<void> {
  while (!(await begin(stream))) await Bun.sleep(pauseMs)
}

/** Returns false if the service is overloaded. */
function begin({ path, token }: { path: string; token: string }): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.once('data', (head: Buffer) => {
      const isOpen = head.includes('HTTP/1.1 200')
      if (isOpen) socket.on('close', () => fail(new Error('a stream ended')))
      else if (head.includes('HTTP/1.1 503')) socket.destroy()
      else reject(new Error(head.toString()))
      resolve(isOpen)
    })
    socket.on('data', onData)
    const accept = 'Accept: text/event-stream'
    socket.write(
      `GET /api/v1${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n${accept}\r\n\r\n`,
    )
  })
}

function onData(chunk: Buffer): void {
  for (let at = chunk.indexOf(mark); at >= 0; at = chunk.indexOf(mark, at + 1)) deliveries++
  if (!isNoting) return
  const now = performance.timeOrigin + performance.now()
  for (const [, id] of chunk.toString().matchAll(entity)) if (!notes.has(id!)) notes.set(id!, now)
}

const fail = (error: Error) => {
  console.error(String(error))
  process.exit(1)
}
for (let i = 0; i < streams.length; i += atOnce)
  await Promise.all(streams.slice(i, i + atOnce).map(subscribe)).catch(fail)
console.log('listening')
createInterface({ input: process.stdin }).on('line', () => {
  console.log(JSON.stringify({ deliveries, heardAt: [...notes] }))
  deliveries = 0
  notes = new Map()
})
