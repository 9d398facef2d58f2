import type { ErrorStatus } from '../wire/refusals.ts'
import type { Reply } from '../wire/reply.ts'

/*
 * How processes talk. Who asks (the asker) connects by TCP to who serves (the listener); all that travels is frames:
 *
 *   length of the body (4 bytes, big endian) · kind (1 byte) · body (bytes, or text in UTF-8)
 *
 *   state       asker                                     listener
 *   greeting    hello: "docket", version, most bytes
 *               of a frame (4), nonce (32)
 *                                                         challenge: version, nonce (32)
 *               proof: a MAC (32) for each secret
 *                                                         welcome: MAC (32), most bytes (4), clock (8)
 *   open        asks: JSON [first id, deadline, payload, deadline, payload, …]; ids count on from the first
 *                                                         answers: JSON [clock, id, status, length, etag, replayed, …],
 *                                                         a line feed, and the bodies one after another, each `length`
 *                                                         UTF-16 units long; what is no reply has status 0 and stands
 *                                                         itself where the length would
 *               ping                                      pong: clock
 *   leaving                                               goodbye: asks no more, please; what is asked is answered
 *               closes when it waits for nothing
 *
 * The MAC is HMAC-SHA256 over role, hello, challenge, welcome's rest and the listener's process id, by a key derived from
 * a secret. Nothing else is read before it has proved right, nothing is parsed, no frame may pass 1 KiB, and all is over
 * within two seconds. Clocks are the listener's performance.now(), deadlines too: the asker reckons them from the clocks
 * it heard, so that the time a frame lay anywhere counts. What is sent afterwards is neither signed nor encrypted: the
 * network between processes is private, or a tunnel.
 */
export const version = 1

export const kinds = {
  hello: 1,
  challenge: 2,
  proof: 3,
  welcome: 4,
  asks: 5,
  answers: 6,
  ping: 7,
  pong: 8,
  goodbye: 9,
} as const

/** Another process, as the directory names it. */
export interface Peer {
  id: string
  host: string
  port: number
}

/** One thing asked by another process; all of one frame are handed over together. */
export interface Ask {
  payload: unknown
  /** On the clock of performance.now() of this process. */
  deadline: number
  /** The first answer goes; later ones do not. */
  answer(answer: Answer): void
}

/** What came of it. */
export type Answer =
  | (Reply & { kind: 'reply'; replayed?: true })
  | { kind: 'refusal'; status: ErrorStatus; message: string; headers: Record<string, string> }
  /** That process does not know such work, or could not be sent it, and has not begun it. */
  | { kind: 'unknown' }
  /** An unexpected error there, and logged there. */
  | { kind: 'failed' }

/** No answer can come any more. `sent: false`: it never left this process, so nothing can have come of it. */
export class Lost extends Error {
  constructor(
    readonly sent: boolean,
    reason: string,
  ) {
    super(reason)
  }
}

export interface ChannelOptions {
  /** The first is not special: one that both sides know is enough. */
  secrets: string[]
  /** Most bytes of one frame's body, and so of one ask. */
  frameBytes: number
  /** Most bytes that wait to be sent on one connection. */
  unsentBytes: number
  /** Most asks on one connection that have no answer yet. */
  pendingAsks: number
}

export interface ListenerOptions extends ChannelOptions {
  /** The id of this process. */
  me: string
  host: string
  port: number
}

export interface Log {
  warn(what: object, message: string): void
  error(what: object, message: string): void
}
