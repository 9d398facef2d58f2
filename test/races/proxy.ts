import type { Socket } from 'node:net'
import { openTcpProxyTo } from '../support/tcp-proxy.ts'

// What Postgres sends last in answer to a commit: ready for the next query, and no transaction open.
const committed = Buffer.from('Z\0\0\0\x05I', 'latin1')

/** Stands between the service and Postgres, and meddles with the one request that carries a mark. */
export interface Proxy {
  url: string
  /** Forwards the marked request, waits until Postgres has committed, and cuts the line without an answer. */
  cutAnswer(mark: string): Promise<void>
  /** Keeps the marked request. `cut` cuts the line to the service; `deliver` hands the request over late. */
  hold(mark: string): { held: Promise<void>; cut(): void; deliver(): Promise<void> }
  close(): void
}

type Request = [chunk: Buffer, service: Socket, postgres: Socket]
/** Sees every request: true when it took it over, and nothing is forwarded. */
type Meddle = (...request: Request) => boolean

export async function openProxy(databaseUrl: string): Promise<Proxy> {
  let meddle: Meddle = () => false
  const line = await openTcpProxyTo(databaseUrl, {
    intercept: (chunk, to, { client, server }) => to === server && meddle(chunk, client, server),
  })
  const once = (mark: string, work: (...request: Request) => void) => {
    meddle = (...request) => {
      if (!request[0].includes(mark)) return false
      meddle = () => false
      work(...request)
      return true
    }
  }
  return {
    ...line,
    hold: (mark) => holdBy((work) => once(mark, work)),
    async cutAnswer(mark) {
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

/** Forwards a request and waits for the whole answer, which nobody gets. */
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
