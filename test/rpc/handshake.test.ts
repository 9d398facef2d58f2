import {
  authenticate,
  authorizationHeader,
  channelKeys,
  newNonce,
  verifyWelcome,
  createWelcome,
} from '../../src/routing/rpc.ts'

function shakeHands(ours: string[], theirs: string[], serverId = 'home-1') {
  const [client, server] = [channelKeys(ours), channelKeys(theirs)]
  const nonce = newNonce()
  const [received, key] = authenticate(server, 'home-1', authorizationHeader(client, serverId, nonce))
  expect(received).toBe(nonce)
  const welcome = createWelcome(key, 'home-1', received, 42.1)
  verifyWelcome(client, serverId, nonce, JSON.parse(JSON.stringify(welcome)))
}

const [old, current, next] = ['old '.repeat(9), 'now '.repeat(9), 'next'.repeat(9)] as const

const namesOf = (secrets: string[]) => secrets.map((secret) => secret.slice(0, 4).trim()).join(' and ')

for (const [ours, theirs] of [
  [[current], [current]],
  [[current, old], [old]],
  [[old], [current, old]],
  [
    [current, old],
    [next, current],
  ],
] as [string[], string[]][])
  test(`a client with the secrets ${namesOf(ours)} and a server with ${namesOf(theirs)} accept each other`, () => {
    shakeHands(ours, theirs)
    shakeHands(theirs, ours)
  })

test('rejects a client that shares no secret with the server, or that expects another process', () => {
  for (const [ours, theirs] of [
    [[current], [old]],
    [[current, next], [old]],
    [[next], [current, old]],
  ] as [string[], string[]][])
    expect(() => shakeHands(ours, theirs)).toThrow('the client has another secret')
  for (const id of ['home-2', '', 'home-1\n'])
    expect(() => shakeHands([current], [current], id)).toThrow('expects another process')
})

test('rejects an empty or missing secret', () => {
  for (const secrets of [[], [''], [current, '']]) expect(() => channelKeys(secrets)).toThrow('secret')
})

test('rejects an Authorization header that is truncated, changed or of another protocol', () => {
  const keys = channelKeys([current])
  const header = authorizationHeader(keys, 'home-1', newNonce())
  const [scheme, nonce, proof] = header.split(' ')
  const wrong = [
    undefined,
    '',
    'Bearer x',
    `${scheme} ${nonce}`,
    `${scheme} ${nonce} `,
    `${scheme} ${nonce} ${proof!.slice(1)}`,
    `${scheme} ${newNonce()} ${proof}`,
    `${scheme} ${nonce}${' x'.repeat(8)} ${proof}`,
    header.replace('docket', 'other'),
    header.toUpperCase(),
  ]
  for (const invalid of wrong) expect(() => authenticate(keys, 'home-1', invalid)).toThrow()
  expect(authenticate(keys, 'home-1', `${scheme} ${nonce} x ${proof}`)[0]).toBe(nonce!)
})

test("rejects a welcome message that was changed, belongs to another handshake, or repeats the client's own proof", () => {
  const keys = channelKeys([current])
  const nonce = newNonce()
  const header = authorizationHeader(keys, 'home-1', nonce)
  const welcome = createWelcome(authenticate(keys, 'home-1', header)[1], 'home-1', nonce, 42)
  const verify = (changed: object, keysOfClient = keys, sent = nonce) =>
    verifyWelcome(keysOfClient, 'home-1', sent, { ...welcome, ...changed })
  verify({})
  const [reflected] = header.split(' ').slice(2)
  for (const changed of [{ clock: 43 }, { proof: reflected }, { proof: undefined }])
    expect(() => verify(changed)).toThrow('another process answers')
  expect(() => verify({}, keys, newNonce())).toThrow('another process answers')
  expect(() => verify({}, channelKeys([old]))).toThrow('another process answers')
})
