import type { Socket } from 'node:net'
import { openTcpProxyTo } from '../kit.ts'

// The message ReadyForQuery without an open transaction, which ends the response to a commit.
const committed = Buffer.from('Z\0\0\0\x05I', 'latin1')

type Request = [chunk: Buffer, service: Socket, postgres: Socket]
type Intercept = (...request: Request) => boolean

/** A proxy between the service and Postgres that can intercept the next request with a given text (`mark`). */
export async function openProxy(databaseUrl: string) {
  let intercept: Intercept = () => false
  const line = await openTcpProxyTo(databaseUrl, {
    intercept: (chunk, to, { client, server }) => to === server && intercept(chunk, client, server),
  })
  const once = (mark: string, work: (...request: Request) => void) => {
    intercept = (...request) => {
      if (!request[0].includes(mark)) return false
      intercept = () => false
      work(...request)
      return true
    }
  }
  return {
    ...line,
    /** Delays the marked request until `deliver` is called. `cut` closes the connection to the service. */
    hold: (mark: string) => holdBy((work) => once(mark, work)),
    /** Forwards the marked request, waits until Postgres has committed, and closes the connection without a response. */
    async cutAnswer(mark: string) {
      const [chunk, service, postgres] = await new Promise<Request>((resolve) =>
        once(mark, (...request) => resolve(request)),
      )
      await deliver(chunk, service, postgres)
      service.destroy()
    },
  }
}

function holdBy(once: (work: (...request: Request) => void) => void) {
  const arrived = Promise.withResolvers<Request>()
  once((chunk, service, postgres) => {
    service.removeAllListeners('close')
    arrived.resolve([chunk, service, postgres])
  })
  let request: Request
  return {
    held: arrived.promise.then((taken) => void (request = taken)),
    cut: () => request[1].destroy(),
    deliver: () => deliver(...request),
  }
}

/** Forwards a request and waits for the whole response, which is dropped. */
function deliver(chunk: Buffer, _service: Socket, postgres: Socket): Promise<void> {
  postgres.removeAllListeners('data')
  return new Promise((resolve) => {
    let answer = Buffer.alloc(0)
    postgres.on('data', (part: Buffer) => {
      answer = Buffer.concat([answer, part])
      if (answer.subarray(-committed.length).equals(committed)) resolve()
    })
    postgres.write(chunk)
  })
}
