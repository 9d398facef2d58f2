import { connect } from 'node:net'
import { fresh, separator } from './plan.ts'

/**
 * Repeats the requests of a plan, one request per connection, and prints the number of responses by status. Responses are
 * hardly parsed, to leave the processor to the service.
 */
const [url = '', planFile = '', connections = '1', seconds = '1'] = process.argv.slice(2)
const records = (await Bun.file(planFile).text()).split(separator)
const requests = records.filter((record) => !record.startsWith('kind '))
const headEnd = '\r\n\r\n'
const answers: Record<string, number> = {}
let number = 100_000_000 + Math.floor(Math.random() * 400_000_000)
const isOver = AbortSignal.timeout(Number(seconds) * 1_000)
isOver.addEventListener('abort', () => {
  console.log(JSON.stringify(answers))
  process.exit(0)
})
for (let n = 0; n < Number(connections); n++) openConnection(requests[n % requests.length]!)

function openConnection(request: string): void {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const isFresh = request.includes(fresh)
  const sent = Buffer.from(request)
  let [missing, isSent, begun] = [0, false, Buffer.alloc(0)]
  const send = () => {
    isSent = false
    socket.write(isFresh ? request.replaceAll(fresh, String(++number)) : sent, () => {
      isSent = true
      if (missing < 0) goOn()
    })
  }
  const goOn = () => {
    missing = 0
    send()
  }
  socket.on('connect', send)
  socket.on('data', (chunk: Buffer) => {
    if (missing <= 0) {
      begun = chunk = Buffer.concat([begun, chunk])
      if (!begun.includes(headEnd)) return
      begun = begun.subarray(0, 0)
      missing = bytesOf(chunk)
    }
    missing -= chunk.length
    if (missing > 0) return
    missing = -1 // responded; a rejected body is still sent completely
    if (isSent) goOn()
  })
  socket.on('close', () => !isOver.aborted && setTimeout(() => openConnection(request), 10))
  socket.on('error', () => {})
}

/** The length of a response in bytes, from its head; Infinity for a stream. */
function bytesOf(answer: Buffer): number {
  const head = answer.toString('latin1', 0, answer.indexOf(headEnd) + headEnd.length)
  const status = head.slice(9, 12)
  answers[status] = (answers[status] ?? 0) + 1
  const [, length] = /^content-length: (\d+)/im.exec(head) ?? []
  return length ? head.length + Number(length) : Infinity
}
