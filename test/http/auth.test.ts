import { anId, claimsOf, expectError, expectResponse, openScene, register, signToken } from '../kit.ts'
import { testSecret, unknownId, words } from '../kit.ts'
import type { Client } from '../kit.ts'
import { invalidNames, invalidTexts, validTexts } from './sample-texts.ts'

const { service, client, sql, ada } = await openScene(['Ada'])

const password = 'secret-1'
const account = (email: string) => ({ name: 'Ada Lovelace', email, password })
const registerBody = (body: unknown) => client.post('/auth/register', body)
const signIn = (email: unknown, password: unknown) => client.post('/auth/login', { email, password })
const aToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

test('registering returns 201 with a token and the user, without the password', async () => {
  const response = await registerBody(account('ada@example.com'))
  const user = { id: anId, name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
  expectResponse(response, 201, { access_token: aToken, user })
  const ada = client.as(response.body.access_token)
  expectResponse(await ada.get('/auth/me'), 200, response.body.user)
  expectError(await client.get('/auth/me'), 401)
})

test('signing in returns 200 with a new token and the user', async () => {
  const { body: registered } = await registerBody(account('grace@example.com'))
  const response = await signIn('grace@example.com', password)
  expectResponse(response, 200, { access_token: aToken, user: registered.user })
  expect(response.body.access_token).not.toBe(registered.access_token)
  expect((await client.as(response.body.access_token).get('/auth/me')).status).toBe(200)
})

async function expectRegistered(emails: string[]): Promise<void> {
  for (const email of emails) {
    expectError(await registerBody(account(email)), 409, /registered already/)
    expect((await signIn(email, password)).status).toBe(200)
  }
}

test('an email address is stored and compared in lower case, trimmed, in composed form', async () => {
  const mary = await registerBody(account('  Mary@Example.COM '))
  expect(mary.body.user.email).toBe('mary@example.com')
  await expectRegistered(['mary@example.com', 'MARY@EXAMPLE.COM', ' mary@example.com\n'])
  expect((await registerBody(account('Jose\u0301@example.com'))).body.user.email).toBe(
    'jos\u00e9@example.com',
  )
  await expectRegistered(['Jos\u00e9@example.com', 'Jose\u0301@example.com'])
})

test('an account that is stored with a decomposed email address is found by both forms', async () => {
  await sql`update users set email = ${'zoe\u0308@example.com'}
    where id = ${(await registerBody(account('zoe@example.com'))).body.user.id}`
  await expectRegistered(['zo\u00eb@example.com', 'zoe\u0308@example.com'])
})

test('an unknown email address and a wrong password get the same response', async () => {
  await registerBody(account('known@example.com'))
  const responses = await Promise.all([
    signIn('known@example.com', 'secret-2'),
    signIn('unknown@example.com', password),
    signIn('not an address', password),
    signIn('', ''),
    signIn('known@example.com\0', 'secret-2'),
    signIn('\ud800', '\ud800'),
  ])
  for (const response of responses) {
    expectError(response, 401, 'Wrong email or password')
    expect(response.text).toBe(responses[0]!.text)
  }
})

const invisible = ['\u200b', '\u00ad', '\u2060', '\u202e', '\u3164', '\u001b', '\u007f', '\ufe0f']

test('a name has 1 to 200 characters after trimming, and at least one is visible', async () => {
  let n = 0
  for (const [name, stored] of [...validTexts(200), ['👩‍👧', '👩‍👧']])
    expect((await registerBody({ ...account(`name-${n++}@example.com`), name })).body.user.name).toBe(stored!)
  const blank = [...invisible, '\u2060 \u00ad', '\u200e\u202e', '\u2800']
  for (const name of [...invalidNames(200), undefined, ...blank])
    expectError(await registerBody({ ...account('nameless@example.com'), name }), 400, /^name /)
})

test('an email address has at most 254 characters and no invisible characters', async () => {
  const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`
  for (const email of [long.padStart(254, 'a'), "o'hara+tag@mail.example.co.uk", 'ä@example.com'])
    expect((await registerBody(account(email))).status).toBe(201)
  const invalid = [
    ...words(
      '@example.com ada ada@ ada@example a@b@example.com a@b..com a@b.com. <a@b.com> a@@b.com a@-b.com',
    ),
    ...[long.padStart(255, 'a'), 'a b@example.com', 'ada@exa mple.com', ...invalidTexts(254), undefined],
    ...invisible.map((hidden) => `hid${hidden}den@example.com`),
  ]
  for (const email of invalid) expectError(await registerBody(account(email as string)), 400, /^email /)
})

test('a password has 6 to 1024 characters and is compared exactly', async () => {
  let n = 0
  for (const secret of ['123456', 'p'.repeat(1024), '  six  ', 'пароль']) {
    const email = `password-${n++}@example.com`
    expect((await registerBody({ ...account(email), password: secret })).status).toBe(201)
    expect((await signIn(email, secret)).status).toBe(200)
    expectError(await signIn(email, secret.slice(1)), 401)
  }
  // UTF-8 encodes every lone surrogate as the same replacement character.
  const texts = ['12345', 'p'.repeat(1025), 'nul\0inside', 'secret\ud800']
  for (const secret of [...texts, 123456, null, ['123456'], undefined])
    expectError(
      await registerBody({ ...account('careless@example.com'), password: secret }),
      400,
      /^password /,
    )
})

test('an error of registering or signing in names every invalid field', async () => {
  expectError(await registerBody({ name: '', email: 'ada', password: '1' }), 400, /name .*email .*password /)
  expectError(await registerBody({}), 400, /name is required.*email is required.*password is required/)
  for (const wrong of [undefined, null, 1, ['a'], {}])
    expectError(await signIn(wrong, wrong), 400, /^email .*password /)
})

test('registering rejects fields beyond name, email and password, and ignores an id', async () => {
  for (const more of [{ role: 'ADMIN' }, { passwordHash: 'x' }, { tokenVersion: 9 }])
    expectError(await registerBody({ ...account('more@example.com'), ...more }), 400, /is not known here/)
  const { status, body } = await registerBody({ ...account('more@example.com'), id: unknownId })
  expect([status, body.user.id === unknownId]).toEqual([201, false])
})

const [head, body, signature] = ada.token!.split('.') as [string, string, string]

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)
const claims = (over: object = {}) => claimsOf(ada.id, over)
const sign = (payload: unknown, { alg = 'HS256', secret = testSecret } = {}) =>
  signToken(payload, secret, alg)

const me = (authorization?: string): ReturnType<Client['get']> =>
  client.get('/auth/me', authorization === undefined ? {} : { authorization })

test('accepts a token with a valid signature and claims, with the scheme in any letter case', async () => {
  for (const header of [`Bearer ${sign(claims())}`, `bearer ${ada.token}`, `BEARER  ${ada.token}`])
    expect((await me(header)).body.id).toBe(ada.id)
})

test('verifies a token once, in whatever letter case the scheme is written', async () => {
  const grace = await register(client)
  const { tokens } = service.services
  const { verify } = tokens
  let verified = 0
  tokens.verify = (token) => {
    verified++
    return verify(token)
  }
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER  ', 'bEARER   ', 'Bearer    '])
    expect((await me(scheme + grace.token)).body.id).toBe(grace.id)
  tokens.verify = verify
  expect(verified).toBe(1)
})

test('rejects a missing token with 401 and names the scheme', async () => {
  for (const header of [undefined, '']) {
    const answer = await me(header)
    expectError(answer, 401, /required/)
    expect(answer.headers.get('www-authenticate')).toStartWith('Bearer')
  }
})

test('rejects a malformed bearer token with 401', async () => {
  const wrong = [ada.token!, 'Bearer', 'Bearer ', 'Bearer x', 'Bearer a.b.c', `Basic ${ada.token}`]
  wrong.push(`Bearer ${head}.${body}`, `Bearer ${head}.${body}.`, `Bearer ${ada.token}.x`, 'Bearer null')
  wrong.push(`Bearer ${ada.token} x`, `Bearer ${ada.token},`, `Bearer ${body}.${head}.${signature}`)
  for (const header of wrong) expectError(await me(header), 401, 'The bearer token is not valid')
})

const otherBody = part({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: unknownId })
const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
const unsigned = (alg: string) => `${part({ alg, typ: 'JWT' })}.${part(claims())}.`
const invalid: Record<string, string[]> = {
  'a forged token': [
    ...[`${head}.${otherBody}.${signature}`, `${head}.${body}.${flipped}`, unsigned('none')],
    sign(claims(), { secret: 'a secret of another service' }),
    ...['HS512', 'HS384', 'none'].map((alg) => sign(claims(), { alg })),
    ...['none', 'RS256'].map((alg) => unsigned(alg) + signature),
  ],
  'a token that is expired or has no valid expiry': [now() - 1, undefined, 'soon'].map((exp) =>
    sign(claims({ exp })),
  ),
  'a token with another issuer, audience or subject': [
    ...['other', undefined].flatMap((one) => [sign(claims({ iss: one })), sign(claims({ aud: one }))]),
    ...[undefined, 7, '', "' or 1=1", unknownId].map((sub) => sign(claims({ sub }))),
    ...[sign(claims({ nbf: now() + 60 })), sign(['not', 'claims']), sign(null)],
  ],
}
test.each(Object.entries(invalid))('rejects %s with 401', async (_, tokens) => {
  for (const token of tokens) expectError(await me(`Bearer ${token}`), 401)
})

test('rejects a request without a token before reading its body and query', async () => {
  expectError(await client.post('/projects', '{"name":'), 401)
  expectError(await client.post('/projects', { name: 'P' }, { 'content-type': 'text/plain' }), 401)
  expectError(await client.get('/tasks?unknown=1'), 401)
})
