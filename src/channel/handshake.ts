import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { encodeFrame, type Frame } from './frames.ts'
import { kinds, version } from './protocol.ts'

/** Most bytes of a frame before both sides know each other. */
export const greetingBytes = 1_024
export const greetingMs = 2_000

const magic = Buffer.from('docket')
const nonceBytes = 32
const macBytes = 32
const mostSecrets = 8
const helloBytes = magic.length + 1 + 4 + nonceBytes
const challengeBytes = 1 + nonceBytes
const termsBytes = 4 + 8

/** The other side cannot be talked to. `last` is still to be sent, so that it knows why. */
export class Stranger extends Error {
  constructor(
    reason: string,
    readonly last?: Buffer,
  ) {
    super(reason)
  }
}

/** What the other side lets us know when it knows us. */
export interface Terms {
  frameBytes: number
  /** Its clock; only the listener tells. */
  clock: number
}

export function deriveKeys(secrets: string[]): Buffer[] {
  if (secrets.length === 0 || secrets.some((secret) => secret === '')) throw new Error('A secret is missing')
  return secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', 'docket channel', macBytes)))
}

type Role = 'asker' | 'listener'

/** The role comes first, so that nobody's proof can be shown to himself. Only the last part has no fixed length. */
const mac = (key: Buffer, role: Role, ...parts: (Buffer | string)[]): Buffer =>
  parts.reduce((hmac, part) => hmac.update(part), createHmac('sha256', key).update(`${role}\n`)).digest()

/** Compares all, whichever fits. */
function keyProving(keys: Buffer[], macOf: (key: Buffer) => Buffer, shown: Buffer[]): Buffer | undefined {
  const fitting = keys.filter((key) => {
    const right = macOf(key)
    return shown.map((one) => timingSafeEqual(one, right)).includes(true)
  })
  return fitting[0]
}

function expectFrame({ kind, body }: Frame, wanted: keyof typeof kinds, isLong: (bytes: number) => boolean) {
  if (kind !== kinds[wanted] || !isLong(body.length)) throw new Stranger(`no ${wanted}`)
}

const otherVersion = (theirs: number | undefined) => `speaks version ${theirs}, not ${version}`

/** The connecting side, until it is welcome. */
export class AskerGreeting {
  private readonly hello: Buffer
  private challenge: Buffer | undefined

  constructor(
    private readonly keys: Buffer[],
    private readonly listenerId: string,
    frameBytes: number,
  ) {
    const head = Buffer.alloc(5)
    head[0] = version
    head.writeUInt32BE(frameBytes, 1)
    this.hello = Buffer.concat([magic, head, randomBytes(nonceBytes)])
  }

  first(): Buffer {
    return encodeFrame(kinds.hello, this.hello)
  }

  /** @throws Stranger */
  heard(frame: Frame): { send: Buffer } | { terms: Terms } {
    if (this.challenge) return { terms: this.welcomed(frame, this.challenge) }
    expectFrame(frame, 'challenge', (bytes) => bytes > 0)
    if (frame.body[0] !== version) throw new Stranger(otherVersion(frame.body[0]))
    expectFrame(frame, 'challenge', (bytes) => bytes === challengeBytes)
    this.challenge = Buffer.from(frame.body)
    const proofs = this.keys.map((key) => mac(key, 'asker', this.hello, frame.body, this.listenerId))
    return { send: encodeFrame(kinds.proof, Buffer.concat(proofs)) }
  }

  private welcomed(frame: Frame, challenge: Buffer): Terms {
    expectFrame(frame, 'welcome', (bytes) => bytes === macBytes + termsBytes)
    const shown = frame.body.subarray(0, macBytes)
    const terms = frame.body.subarray(macBytes)
    const macOf = (key: Buffer) => mac(key, 'listener', this.hello, challenge, terms, this.listenerId)
    if (!keyProving(this.keys, macOf, [shown])) throw new Stranger('is not who we looked for')
    return { frameBytes: terms.readUInt32BE(0), clock: terms.readDoubleBE(4) }
  }
}

/** The listening side, until it knows who asks. */
export class ListenerGreeting {
  private readonly challenge = Buffer.concat([Buffer.of(version), randomBytes(nonceBytes)])
  private hello: Buffer | undefined

  constructor(
    private readonly keys: Buffer[],
    private readonly me: string,
    private readonly frameBytes: number,
  ) {}

  /** @throws Stranger */
  heard(frame: Frame, clock: number): { send: Buffer; terms?: Terms } {
    if (this.hello) return this.proved(frame, this.hello, clock)
    const { body } = frame
    expectFrame(
      frame,
      'hello',
      (bytes) => bytes > magic.length && magic.equals(body.subarray(0, magic.length)),
    )
    const send = encodeFrame(kinds.challenge, this.challenge)
    const theirs = body[magic.length]
    if (theirs !== version) throw new Stranger(otherVersion(theirs), send)
    expectFrame(frame, 'hello', (bytes) => bytes === helloBytes)
    this.hello = Buffer.from(body)
    return { send }
  }

  private proved(frame: Frame, hello: Buffer, clock: number): { send: Buffer; terms: Terms } {
    const isWhole = (bytes: number) => bytes > 0 && bytes % macBytes === 0 && bytes <= macBytes * mostSecrets
    expectFrame(frame, 'proof', isWhole)
    const shown = Array.from({ length: frame.body.length / macBytes }, (_, i) =>
      frame.body.subarray(i * macBytes, (i + 1) * macBytes),
    )
    const { challenge, me } = this
    const key = keyProving(this.keys, (one) => mac(one, 'asker', hello, challenge, me), shown)
    if (!key) throw new Stranger('knows no secret of ours, or looks for another process')
    const terms = Buffer.alloc(termsBytes)
    terms.writeUInt32BE(this.frameBytes, 0)
    terms.writeDoubleBE(clock, 4)
    const send = encodeFrame(
      kinds.welcome,
      Buffer.concat([mac(key, 'listener', hello, challenge, terms, me), terms]),
    )
    return { send, terms: { frameBytes: hello.readUInt32BE(magic.length + 1), clock: 0 } }
  }
}
