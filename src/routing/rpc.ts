import type { ErrorStatus } from '../responses/errors.ts'
import type { Reply } from '../responses/reply.ts'

/*
 * RPC between processes: the client keeps one WebSocket to each server.
 *
 *   client   upgrade request with a nonce and its proof in Authorization (handshake.ts)
 *   server   {proof, clock}: the welcome
 *   client   [first id, deadline, payload, deadline, payload, …]: requests with consecutive ids
 *   server   [clock, id, length, response, …], a line feed, and the bodies of the responses: each has `length` UTF-16 units
 *   client   [0]: a heartbeat; the server replies with [clock]
 *   server   goodbye: the client sends no more requests, and closes after the last response
 *
 * Clocks and deadlines use the server's performance.now(). The client converts its deadlines, so time in buffers counts.
 * Messages after the handshake are neither signed nor encrypted: the network between processes must be private.
 */
export const goodbye = 'goodbye'

/** Timeouts count ticks, so that time during which this process was frozen does not count. */
export const tickMs = 100
export const overheadBytes = 128

export type Peer = { id: string; host: string; port: number }

export interface RpcRequest {
  payload: unknown
  deadline: number
  respond(response: RpcResponse): void
}
export type RequestHandler = (requests: RpcRequest[]) => void

export type Refusal = {
  kind: 'refusal'
  status: ErrorStatus
  message: string
  headers: Record<string, string>
}

export type RpcResponse =
  | (Reply & { kind: 'reply'; replayed?: true })
  | Refusal
  /** Not started: the command is unknown, the server is closing, or the request is too large. */
  | { kind: 'unknown' }
  | { kind: 'failed' }

export interface RpcOptions {
  secrets: string[]
  /** Bytes of one message. Must be the same in all processes. */
  maxBytes: number
  maxUnsentBytes: number
  maxPending: number
}
