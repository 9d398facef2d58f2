import { expect, test } from 'bun:test'
import { authenticate, authorizationOf, deriveKeys } from '../../src/routing/handshake.ts'
import { helloTo, verifyWelcome, welcomeOf } from '../../src/routing/handshake.ts'

/** Performs the handshake between both sides. @throws UnauthenticatedPeer on either */
function meet(ours: string[], theirs: string[], serverId = 'home-1') {
  const [client, server] = [deriveKeys(ours), deriveKeys(theirs)]
  const sent = helloTo(serverId, 1_000)
  const [received, key] = authenticate(server, 'home-1', authorizationOf(client, sent))
  expect(received).toEqual(sent)
  verifyWelcome(client, sent, JSON.parse(JSON.stringify(welcomeOf(key, received, 2_000, 42.1))))
}

const [old, current, next] = ['old '.repeat(9), 'now '.repeat(9), 'next'.repeat(9)] as [
  string,
  string,
  string,
]

for (const [ours, theirs] of [
  [[current], [current]],
  [[current, old], [old]],
  [[old], [current, old]],
  [
    [current, old],
    [next, current],
  ],
] as [string[], string[]][])
  test(`a client with ${ours.length} and a server with ${theirs.length} secrets meet by a common one: ${ours[0]![0]}${theirs[0]![0]}`, () => {
    meet(ours, theirs)
    meet(theirs, ours)
  })

test('rejects a client that shares no secret, or means another process', () => {
  for (const [ours, theirs] of [
    [[current], [old]],
    [[current, next], [old]],
    [[next], [current, old]],
  ] as [string[], string[]][])
    expect(() => meet(ours, theirs)).toThrow('knows no secret of this process')
  for (const id of ['home-2', '', 'home-1\n'])
    expect(() => meet([current], [current], id)).toThrow('means another process')
})

test('rejects an empty or missing secret', () => {
  for (const secrets of [[], [''], [current, '']]) expect(() => deriveKeys(secrets)).toThrow('secret')
})

test('rejects a header that is cut, changed or of another protocol', () => {
  const keys = deriveKeys([current])
  const header = authorizationOf(keys, helloTo('home-1', 1_000))
  const [scheme, nonce, bytes, proof] = header.split(' ')
  const otherNonce = helloTo('home-1', 1_000).nonce
  const wrong = [
    undefined,
    '',
    'Bearer x',
    `${scheme} ${nonce} ${bytes}`,
    `${scheme} ${nonce} ${bytes} `,
    `${scheme} ${nonce} ${bytes} ${proof!.slice(1)}`,
    `${scheme} ${nonce} 1001 ${proof}`,
    `${scheme} ${otherNonce} ${bytes} ${proof}`,
    `${scheme} ${nonce} ${bytes}${' x'.repeat(8)} ${proof}`,
    header.replace('docket', 'other'),
    header.toUpperCase(),
  ]
  for (const one of wrong) expect(() => authenticate(keys, 'home-1', one)).toThrow()
  expect(authenticate(keys, 'home-1', `${scheme} ${nonce} ${bytes} x ${proof}`)[0].nonce).toBe(nonce!)
})

test('rejects a welcome that is changed, of another handshake, or the proof of the client itself', () => {
  const keys = deriveKeys([current])
  const hello = helloTo('home-1', 1_000)
  const [, key] = authenticate(keys, 'home-1', authorizationOf(keys, hello))
  const welcome = welcomeOf(key, hello, 2_000, 42)
  const reflected = authorizationOf(keys, hello).split(' ')[3]!
  for (const changed of [{ maxBytes: 2_001 }, { clock: 43 }, { proof: reflected }, { proof: undefined }])
    expect(() => verifyWelcome(keys, hello, { ...welcome, ...changed } as never)).toThrow('not the process')
  expect(() => verifyWelcome(keys, helloTo('home-1', 1_000), welcome)).toThrow('not the process')
  expect(() => verifyWelcome(deriveKeys([old]), hello, welcome)).toThrow('not the process')
})
