import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { encodeFrame, type Frame, FrameReader } from '../../src/channel/frames.ts'
import { AskerGreeting, deriveKeys } from '../../src/channel/handshake.ts'
import { kinds, version } from '../../src/channel/protocol.ts'

/** A connection of which every byte is ours. */
export interface Raw {
  socket: Socket
  send(bytes: Uint8Array | string): void
  /** The next whole frame that arrives. */
  frame(): Promise<Frame>
  /** Resolves when the other side has closed. */
  closed: Promise<void>
}

export async function openRaw(port: number): Promise<Raw> {
  const socket = connect(port, '127.0.0.1')
  return readRaw(socket, new Promise((resolve) => socket.once('connect', () => resolve())))
}

export async function readRaw(socket: Socket, connected: Promise<void> = Promise.resolve()): Promise<Raw> {
  const reader = new FrameReader(16_777_216)
  const frames: Frame[] = []
  const waiting: ((frame: Frame) => void)[] = []
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk)
    for (let frame = reader.next(); frame; frame = reader.next()) {
      const next = waiting.shift()
      if (next) next(frame)
      else frames.push(frame)
    }
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await connected
  return {
    socket,
    closed,
    send: (bytes) => void socket.write(bytes),
    frame() {
      const had = frames.shift()
      if (had) return Promise.resolve(had)
      const next = new Promise<Frame>((resolve) => waiting.push(resolve))
      return Promise.race([
        next,
        closed.then(() => Promise.reject(new Error('closed before another frame came'))),
      ])
    },
  }
}

/** Connects and goes through the handshake as an asker would, and keeps what was said. */
export async function greet(port: number, secrets: string[], listenerId = 'home-1') {
  const raw = await openRaw(port)
  const greeting = new AskerGreeting(deriveKeys(secrets), listenerId, 2_097_152)
  const hello = greeting.first()
  raw.send(hello)
  const step = greeting.heard(await raw.frame())
  if (!('send' in step)) throw new Error('welcome too early')
  const proof = step.send
  return {
    raw,
    hello,
    proof,
    async prove() {
      raw.send(proof)
      return greeting.heard(await raw.frame())
    },
  }
}

export const challenge = Buffer.concat([Buffer.of(version), Buffer.alloc(32, 9)])
export const terms = Buffer.from('00100000' + '0000000000000000', 'hex')

/** Takes the asker's hello and proof, and welcomes it as that process, with what that secret makes of it. */
export async function welcomeAs(raw: Raw, id: string, known: string, role = 'listener'): Promise<void> {
  const hello = (await raw.frame()).body
  raw.send(encodeFrame(kinds.challenge, challenge))
  await raw.frame()
  const mac = createHmac('sha256', deriveKeys([known])[0]!)
  for (const part of [`${role}\n`, hello, challenge, terms, id]) mac.update(part)
  raw.send(encodeFrame(kinds.welcome, Buffer.concat([mac.digest(), terms])))
}
