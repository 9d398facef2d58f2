import type { Socket } from 'node:net'
import { encodeFrame, type Frame, FrameReader } from './frames.ts'
import { greetingBytes } from './handshake.ts'

/** All watches count in these: a timer that comes late because its process slept counts once. */
export const tickMs = 100

export interface Hearer {
  /** What it throws ends the connection. */
  heard(frame: Frame): void
  /** Anything arrived. */
  stirred(): void
  /** Without a reason it was the other side that closed. */
  ended(reason?: string): void
}

/** A socket that carries frames: small ones until the other side is known. */
export class Connection {
  private readonly reader = new FrameReader(greetingBytes)
  private reason: string | undefined
  private isEnded = false

  constructor(
    private readonly socket: Socket,
    private readonly hearer: Hearer,
  ) {
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    socket.on('error', (error) => (this.reason = error.message))
    socket.on('drain', () => this.socket.resume())
    socket.on('close', () => this.close())
  }

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  allow(frameBytes: number): void {
    this.reader.mostBytes = frameBytes
  }

  send(kind: number, body?: string): void {
    this.write(encodeFrame(kind, body))
  }

  write(frame: Buffer): void {
    if (this.socket.writable || this.socket.connecting) this.socket.write(frame)
  }

  /** Hears nothing more until all that was sent has been taken. */
  hearNothingUntilDrained(): void {
    if (this.socket.writableNeedDrain) this.socket.pause()
  }

  /** Sends what is to be sent, and closes. */
  finish(last?: Buffer): void {
    if (last) this.write(last)
    this.socket.end()
  }

  cut(reason: string): void {
    this.reason = reason
    this.socket.destroy()
    this.close()
  }

  private take(chunk: Buffer): void {
    this.hearer.stirred()
    this.reader.push(chunk)
    try {
      for (let frame = this.reader.next(); frame && !this.isEnded; frame = this.reader.next())
        this.hearer.heard(frame)
    } catch (error) {
      this.cut(String(error instanceof Error ? error.message : error))
    }
  }

  private close(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.hearer.ended(this.reason)
  }
}
