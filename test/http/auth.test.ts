import { anId, claimsOf, expectError, expectResponse, openScene, signToken, testSecret } from '../kit.ts'
import { unknownId, words } from '../kit.ts'
import { invalidNames, invalidTexts, validTexts } from './sample-texts.ts'

const { client, sql, ada } = await openScene(['Ada'])

const password = 'secret-1'
const account = (email: unknown, over: object = {}) => ({ name: 'Ada Lovelace', email, password, ...over })
const registerBody = (body: unknown) => client.post('/auth/register', body)
const signIn = (email: unknown, secret: unknown = password) =>
  client.post('/auth/login', { email, password: secret })
const aToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

test('registering returns 201 with a token and the user, and signing in returns 200 with a new token', async () => {
  const registered = await registerBody(account('ada@example.com'))
  const user = { id: anId, name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
  expectResponse(registered, 201, { access_token: aToken, user })
  expect(registered.headers.get('location')).toBe('/api/v1/auth/me')
  const signedIn = await signIn('ada@example.com')
  expectResponse(signedIn, 200, { access_token: aToken, user: registered.body.user })
  expect(signedIn.headers.get('location')).toBeNull()
  expect(signedIn.body.access_token).not.toBe(registered.body.access_token)
  for (const { body } of [registered, signedIn])
    expectResponse(await client.as(body.access_token).get('/auth/me'), 200, registered.body.user)
})

async function expectRegistered(emails: string[]): Promise<void> {
  for (const email of emails) {
    expectError(await registerBody(account(email)), 409, /registered already/)
    expect((await signIn(email)).status).toBe(200)
  }
}

test('an email address is stored and compared in lower case, trimmed, in composed form', async () => {
  const stored = async (email: string) => (await registerBody(account(email))).body.user
  expect((await stored('  Mary@Example.COM ')).email).toBe('mary@example.com')
  expect((await stored('Jose\u0301@example.com')).email).toBe('jos\u00e9@example.com')
  const { id } = await stored('zoe@example.com')
  // An earlier release stored addresses as they were sent.
  await sql`update users set email = ${'zoe\u0308@example.com'} where id = ${id}`
  await expectRegistered(['MARY@EXAMPLE.COM', ' mary@example.com\n'])
  await expectRegistered(['Jos\u00e9@example.com', 'Jose\u0301@example.com'])
  await expectRegistered(['zo\u00eb@example.com', 'zoe\u0308@example.com'])
})

const invisible = ['\u200b', '\u00ad', '\u2060', '\u202e', '\u3164', '\u001b', '\u007f', '\ufe0f']
const blank = [...invisible, '\u2060 \u00ad', '\u200e\u202e', '\u2800']
const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`
const addresses = words(
  '@example.com ada ada@ ada@example a@b@example.com a@b..com a@b.com. <a@b.com> a@@b.com a@-b.com',
).concat(long.padStart(255, 'a'), 'a b@example.com', 'ada@exa mple.com')

/** Values of a field with their stored form, and values that are rejected. */
const fields: [
  field: 'name' | 'email' | 'password',
  valid: [sent: string, stored: string][],
  invalid: unknown[],
][] = [
  ['name', [...validTexts(200), ['👩‍👧', '👩‍👧']], [...invalidNames(200), undefined, ...blank]],
  [
    'email',
    [long.padStart(254, 'a'), "o'hara+tag@mail.example.co.uk", 'ä@example.com'].map((one) => [one, one]),
    [...addresses, ...invalidTexts(254), undefined, ...invisible.map((one) => `hid${one}den@example.com`)],
  ],
  [
    'password',
    ['123456', 'p'.repeat(1024), '  six  ', 'пароль'].map((one) => [one, one]),
    // UTF-8 encodes every lone surrogate as the same replacement character.
    ['12345', 'p'.repeat(1025), 'nul\0inside', 'secret\ud800', 123456, null, ['123456'], undefined],
  ],
]

test.each(fields)('registering accepts and rejects each %s as documented', async (field, valid, invalid) => {
  for (const [n, [sent, stored]] of valid.entries()) {
    const body = account(`${field}-${n}@example.com`, { [field]: sent })
    const { status, body: answer } = await registerBody(body)
    expect([sent, status]).toEqual([sent, 201])
    if (field !== 'password') expect(answer.user[field]).toBe(stored)
    expect((await signIn(body.email, body.password)).status).toBe(200)
  }
  for (const value of invalid)
    expectError(
      await registerBody(account('careless@example.com', { [field]: value })),
      400,
      new RegExp(`^${field} `),
    )
})

const [head, body, signature] = ada.token!.split('.') as [string, string, string]
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)
const claims = (over: object = {}) => claimsOf(ada.id, over)
const sign = (payload: unknown, { alg = 'HS256', secret = testSecret } = {}) =>
  signToken(payload, secret, alg)
const me = (authorization: string) => client.get('/auth/me', { authorization })

test('accepts a token with a valid signature and claims, with the scheme in any letter case', async () => {
  for (const header of [`Bearer ${sign(claims())}`, `bearer ${ada.token}`, `BEARER  ${ada.token}`])
    expect((await me(header)).body.id).toBe(ada.id)
})

const otherBody = part({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: unknownId })
const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
const unsigned = (alg: string) => `${part({ alg, typ: 'JWT' })}.${part(claims())}.`
const wrongClaims = [
  ...[now() - 1, undefined, 'soon'].map((exp) => ({ exp })),
  ...['other', undefined].flatMap((one) => [{ iss: one }, { aud: one }]),
  ...[undefined, 7, '', "' or 1=1", unknownId].map((sub) => ({ sub })),
  ...[1, -1, undefined, '0'].map((ver) => ({ ver })),
  ...[undefined, '', 'x', 7, "' or 1=1"].map((jti) => ({ jti })),
  { nbf: now() + 60 },
]
const invalid: Record<string, string[]> = {
  'a malformed token': [
    ...[`Basic ${ada.token}`, ada.token!, 'Bearer', 'Bearer ', 'Bearer x', 'Bearer a.b.c', 'Bearer null'],
    ...[`${head}.${body}`, `${head}.${body}.`, `${body}.${head}.${signature}`].map((one) => `Bearer ${one}`),
    ...['.x', ' x', ','].map((end) => `Bearer ${ada.token}${end}`),
  ],
  'a forged token': [
    ...[`${head}.${otherBody}.${signature}`, `${head}.${body}.${flipped}`, unsigned('none')],
    sign(claims(), { secret: 'a secret of another service' }),
    ...['HS512', 'HS384', 'none'].map((alg) => sign(claims(), { alg })),
    ...['none', 'RS256'].map((alg) => unsigned(alg) + signature),
  ].map((token) => `Bearer ${token}`),
  'a token with a wrong or missing claim': [
    ...[...wrongClaims.map(claims), ['not', 'claims'], null].map((payload) => `Bearer ${sign(payload)}`),
  ],
}

test.each(Object.entries(invalid))('rejects %s with 401', async (_, headers) => {
  for (const header of headers) expectError(await me(header), 401, 'The bearer token is not valid')
})

test('rejects a missing token with 401 and names the scheme', async () => {
  for (const answer of [await client.get('/auth/me'), await me('')]) {
    expectError(answer, 401, /required/)
    expect(answer.headers.get('www-authenticate')).toStartWith('Bearer')
  }
})
