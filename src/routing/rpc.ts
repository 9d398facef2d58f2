import type { ErrorStatus } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'

/*
 * RPC between processes: the client keeps one WebSocket to each server.
 *
 *   client   upgrade request with a nonce and its proof in Authorization (handshake.ts)
 *   server   {proof, clock}: the welcome
 *   client   [first id, deadline, payload, deadline, payload, …]: requests; ids count on from the first
 *   server   [clock, id, length, response, …], a line feed, and the bodies of the responses: each has `length` UTF-16 units
 *   client   [0]: a heartbeat, answered with [clock]
 *   server   goodbye: the client sends no more requests, and closes after the last response
 *
 * Clocks and deadlines are the server's performance.now(). The client converts deadlines, so the time that a request
 * spends in a buffer counts. Messages after the handshake are neither signed nor encrypted: the network between processes
 * must be private.
 */
export const goodbye = 'goodbye'

/** Length of one timer tick. Time-outs count ticks, so that the time in which this process was frozen does not count. */
export const tickMs = 100
export const handshakeMs = 2_000
/** Upper limit for the ids, the deadline and the commas of one request or response. */
export const envelopeBytes = 128

export type Peer = { id: string; host: string; port: number }

export interface RpcRequest {
  payload: unknown
  /** On the clock of performance.now() of this process. */
  deadline: number
  /** Sends the response. Later calls do nothing. */
  respond(response: RpcResponse): void
}
export type Serve = (requests: RpcRequest[]) => void

export type RpcResponse =
  | (Reply & { kind: 'reply'; replayed?: true })
  | { kind: 'refusal'; status: ErrorStatus; message: string; headers: Record<string, string> }
  /** The server has not begun it: the request is unknown there, too large, or the server is closing. */
  | { kind: 'unknown' }
  | { kind: 'failed' }

/** No response can arrive any more. */
export class ConnectionLost extends Error {
  constructor(
    /** False: the request never left this process. */
    readonly sent: boolean,
    reason: string,
  ) {
    super(reason)
  }
}

export interface RpcOptions {
  /** Client and server need one secret in common. */
  secrets: string[]
  /** Upper limit of one message, and so of one request. All processes have the same. */
  maxBytes: number
  /** Upper limit of what waits to be sent on one connection. */
  maxUnsentBytes: number
  /** Upper limit of requests without a response on one connection. */
  maxPending: number
}

export interface Log {
  warn(what: object, message: string): void
  error(what: object, message: string): void
}
