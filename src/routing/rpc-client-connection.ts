import { WebSocket } from 'ws'
import { inUrl } from '../hosts.ts'
import { unavailable } from '../responses/errors.ts'
import { Batch } from './batch.ts'
import { ClockOffset } from './clock-offset.ts'
import { authorizationHeader, newNonce, verifyWelcome } from './handshake.ts'
import { overheadBytes, goodbye, type Peer, type RpcOptions, type RpcResponse, tickMs } from './rpc.ts'

/** The server starts no request after its deadline, but a started request may end later. */
const graceMs = 500
const heartbeatMs = 500
const silenceTimeoutMs = 2_000

interface PendingCall {
  text: string
  bytes: number
  deadline: number
  resolve(response: RpcResponse): void
  reject(reason: Error): void
}

export class ConnectionLost extends Error {
  constructor(
    /** False if the request never left this process: a retry is then safe. */
    readonly sent: boolean,
    reason: string,
  ) {
    super(reason)
  }
}

export class RpcClientConnection {
  state: 'connecting' | 'open' | 'leaving' | 'closed' = 'connecting'
  private readonly socket: WebSocket
  private readonly clock = new ClockOffset()
  private readonly unsent: Batch<PendingCall> = new Batch(
    (calls) => this.send(calls),
    () => this.state === 'open',
  )
  private readonly pending = new Map<number, PendingCall>()
  private readonly nonce = newNonce()
  private nextId = 0
  private silentMs = 0

  constructor(
    private readonly server: Peer,
    private readonly keys: Buffer[],
    private readonly options: RpcOptions,
    private readonly onClose: (reason: string) => void,
  ) {
    const { id, host, port } = server
    this.socket = new WebSocket(`ws://${inUrl(host)}:${port}`, {
      headers: { authorization: authorizationHeader(keys, id, this.nonce) },
      maxPayload: options.maxBytes,
      perMessageDeflate: false,
    })
    this.socket.on('message', (data) => this.receive(String(data)))
    this.socket.on('error', ({ message }) => this.close(message))
    this.socket.on('close', () => this.close('the connection was closed'))
  }

  call(payload: unknown, deadline: number): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      if (this.state === 'leaving') throw new ConnectionLost(false, 'the process is shutting down')
      const text = JSON.stringify(payload)
      const bytes = Buffer.byteLength(text) + overheadBytes
      if (bytes > this.options.maxBytes) return resolve({ kind: 'unknown' })
      if (!this.hasRoomFor(bytes)) throw unavailable('Too many writes wait')
      this.unsent.add({ text, bytes, deadline, resolve, reject })
    })
  }

  tick(): void {
    this.silentMs += tickMs
    const isOpening = this.state === 'connecting'
    if (this.silentMs >= silenceTimeoutMs)
      return this.close(isOpening ? 'no handshake in time' : 'no heartbeat in time')
    if (!isOpening && this.silentMs % heartbeatMs === 0) this.socket.send('[0]')
    const latestExpired = performance.now() - graceMs
    for (const [id, { deadline, reject }] of this.pending) {
      if (deadline > latestExpired) continue
      this.pending.delete(id)
      reject(new ConnectionLost(true, 'no answer in time'))
    }
    this.closeWhenDone()
  }

  close(reason: string): void {
    if (this.state === 'closed') return
    this.onClose(reason)
    this.state = 'closed'
    this.socket.terminate()
    this.rejectUnsent(reason)
    for (const { reject } of this.pending.values()) reject(new ConnectionLost(true, reason))
    this.pending.clear()
  }

  private hasRoomFor(bytes: number): boolean {
    const { maxPending, maxUnsentBytes } = this.options
    const unsent = this.unsent.bytes + this.socket.bufferedAmount
    const isFull = unsent > 0 && unsent + bytes > maxUnsentBytes
    return !isFull && this.pending.size + this.unsent.length < maxPending
  }

  private send(calls: PendingCall[]): void {
    const aheadMs = this.clock.at(performance.now())
    let text = `[${this.nextId}`
    for (const call of calls) {
      text += `,${Math.floor(call.deadline + aheadMs)},${call.text}`
      call.text = ''
      this.pending.set(this.nextId++, call)
    }
    this.socket.send(`${text}]`)
  }

  private receive(text: string): void {
    this.silentMs = 0
    try {
      if (this.state === 'connecting') this.receiveWelcome(text)
      else if (text === goodbye) this.receiveGoodbye()
      else this.receiveResponses(text)
    } catch (error) {
      this.close(String(error instanceof Error ? error.message : error))
    }
  }

  private receiveWelcome(text: string): void {
    const welcome = JSON.parse(text)
    verifyWelcome(this.keys, this.server.id, this.nonce, welcome)
    this.clock.update(welcome.clock, performance.now())
    this.state = 'open'
    this.unsent.flush()
  }

  private receiveResponses(text: string): void {
    let from = text.indexOf('\n') + 1
    const message = JSON.parse(text.slice(0, from)) as [clock: number, ...unknown[]]
    this.clock.update(message[0], performance.now())
    for (let i = 1; i < message.length; i += 3) {
      const [id, length, response] = message.slice(i, i + 3) as [number, number, RpcResponse]
      if (response.kind === 'reply') response.body = text.slice(from, (from += length))
      const call = this.pending.get(id)
      this.pending.delete(id)
      call?.resolve(response)
    }
    this.closeWhenDone()
  }

  private receiveGoodbye(): void {
    this.state = 'leaving'
    this.rejectUnsent('the process is shutting down')
    this.closeWhenDone()
  }

  private rejectUnsent(reason: string): void {
    for (const { reject } of this.unsent.drain()) reject(new ConnectionLost(false, reason))
  }

  private closeWhenDone(): void {
    if (this.state === 'leaving' && this.pending.size === 0) this.socket.close()
  }
}
