import { expect, test } from 'bun:test'
import { type Frame, FrameReader } from '../../src/channel/frames.ts'
import { AskerGreeting, deriveKeys, ListenerGreeting } from '../../src/channel/handshake.ts'

const frameOf = (bytes: Buffer): Frame => {
  const reader = new FrameReader(1_024)
  reader.push(bytes)
  return reader.next()!
}

/** Both sides in turn; what each learned of the other. */
function meet(ours: string[], theirs: string[], lookedFor = 'me') {
  const asker = new AskerGreeting(deriveKeys(ours), lookedFor, 1_000)
  const listener = new ListenerGreeting(deriveKeys(theirs), 'me', 2_000)
  const { send } = listener.heard(frameOf(asker.first()), 1)
  const proof = asker.heard(frameOf(send)) as { send: Buffer }
  const welcome = listener.heard(frameOf(proof.send), 42.5)
  return { listener: welcome.terms, asker: asker.heard(frameOf(welcome.send)) }
}

const [old, current, next] = ['old '.repeat(9), 'now '.repeat(9), 'next'.repeat(9)]
const known = {
  listener: { frameBytes: 1_000, clock: 0 },
  asker: { terms: { frameBytes: 2_000, clock: 42.5 } },
}

for (const [ours, theirs] of [
  [[current], [current]],
  [[current, old], [old]],
  [[old], [current, old]],
  [[current, old], [current]],
  [[current], [current, old]],
  [
    [current, old],
    [current, old],
  ],
  [
    [current, old],
    [next, current],
  ],
  [
    [next, current],
    [current, old],
  ],
] as [string[], string[]][])
  test(`while a secret is rotated all meet who share one: ${ours.length} and ${theirs.length}, ${ours[0]![0]}${theirs[0]![0]}`, () => {
    expect(meet(ours, theirs)).toEqual(known)
  })

test('who shares none does not', () => {
  for (const [ours, theirs] of [
    [[current], [old]],
    [[current, next], [old]],
    [[next], [current, old]],
  ] as [string[], string[]][])
    expect(() => meet(ours, theirs)).toThrow('knows no secret of ours')
  expect(() => meet([current], [current], 'not me')).toThrow('looks for another process')
})

test('without a secret there is no channel: an empty one would be known to all', () => {
  for (const secrets of [[], [''], [current, '']]) expect(() => deriveKeys(secrets)).toThrow('secret')
})

test('every handshake has nonces of its own', () => {
  const greetings = [1, 2].map(() => new AskerGreeting(deriveKeys([current]), 'me', 1_000))
  const listeners = [1, 2].map(() => new ListenerGreeting(deriveKeys([current]), 'me', 1_000))
  const hellos = greetings.map((one) => one.first())
  expect(hellos[0]!.equals(hellos[1]!)).toBe(false)
  const challenges = listeners.map((one, i) => one.heard(frameOf(hellos[i]!), 0).send)
  expect(challenges[0]!.equals(challenges[1]!)).toBe(false)
})
