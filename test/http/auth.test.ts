import * as argon2 from '@node-rs/argon2'
import { openPasswords } from '../../src/identity/passwords.ts'
import { anId, expectError, expectResponse, openScene, unknownId, words } from '../kit.ts'
import { invalidNames, invalidTexts, validTexts } from './sample-texts.ts'

const { service, client, sql } = await openScene()

const password = 'secret-1'
const account = (email: string) => ({ name: 'Ada Lovelace', email, password })
const register = (body: unknown) => client.post('/auth/register', body)
const signIn = (email: unknown, password: unknown) => client.post('/auth/login', { email, password })
const aToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

test('registering returns 201 with a token and the user, without the password', async () => {
  const response = await register(account('ada@example.com'))
  const user = { id: anId, name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
  expectResponse(response, 201, { access_token: aToken, user })
  const ada = client.as(response.body.access_token)
  expectResponse(await ada.get('/auth/me'), 200, response.body.user)
  expectError(await client.get('/auth/me'), 401)
})

test('signing in returns 200 with a new token and the user', async () => {
  const { body: registered } = await register(account('grace@example.com'))
  const response = await signIn('grace@example.com', password)
  expectResponse(response, 200, { access_token: aToken, user: registered.user })
  expect(response.body.access_token).not.toBe(registered.access_token)
  expect((await client.as(response.body.access_token).get('/auth/me')).status).toBe(200)
})

async function expectRegistered(emails: string[]): Promise<void> {
  for (const email of emails) {
    expectError(await register(account(email)), 409, /registered already/)
    expect((await signIn(email, password)).status).toBe(200)
  }
}

test('an email address is stored and compared in lower case, trimmed, in composed form', async () => {
  const mary = await register(account('  Mary@Example.COM '))
  expect(mary.body.user.email).toBe('mary@example.com')
  await expectRegistered(['mary@example.com', 'MARY@EXAMPLE.COM', ' mary@example.com\n'])
  expect((await register(account('Jose\u0301@example.com'))).body.user.email).toBe('jos\u00e9@example.com')
  await expectRegistered(['Jos\u00e9@example.com', 'Jose\u0301@example.com'])
})

test('an account that is stored with a decomposed email address is found by both forms', async () => {
  await sql`update users set email = ${'zoe\u0308@example.com'}
    where id = ${(await register(account('zoe@example.com'))).body.user.id}`
  await expectRegistered(['zo\u00eb@example.com', 'zoe\u0308@example.com'])
})

test('an unknown email address and a wrong password get the same response', async () => {
  await register(account('known@example.com'))
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

test('every failed sign-in verifies one argon2 hash of the same cost, so that its duration does not reveal whether the account exists', async () => {
  await register(account('compared@example.com'))
  const { passwords } = service.services
  let costs: unknown[] = []
  const costOf = (hashed: unknown) => /^(\$[^$]*){3}/.exec(String(hashed))?.[0]
  const verify: typeof argon2.verify = (hashed, ...others) => {
    costs.push(costOf(hashed))
    return argon2.verify(hashed, ...others)
  }
  const { matches } = passwords
  passwords.matches = openPasswords({ ...argon2, verify }).matches
  try {
    const [{ passwordHash } = {}] =
      await sql`select password_hash from users where email = 'compared@example.com'`
    for (const email of ['compared@example.com', 'nobody@example.com', 'not an address', '']) {
      costs = []
      expect((await signIn(email, 'secret-2')).status).toBe(401)
      expect([email, costs]).toEqual([email, [costOf(passwordHash)]])
    }
  } finally {
    passwords.matches = matches
  }
})

test("hashes passwords with the cost of OWASP's recommendation for argon2id", async () => {
  const costs: unknown[] = []
  const hash: typeof argon2.hash = (text, cost) => {
    costs.push(cost)
    return argon2.hash(text, cost)
  }
  await openPasswords({ ...argon2, hash }).hash('secret-1', '10.0.0.1')
  const recommended = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
  expect(costs).toEqual([recommended, recommended])
})

const invisible = ['\u200b', '\u00ad', '\u2060', '\u202e', '\u3164', '\u001b', '\u007f', '\ufe0f']

test('a name has 1 to 200 characters after trimming, and at least one is visible', async () => {
  let n = 0
  for (const [name, stored] of [...validTexts(200), ['👩‍👧', '👩‍👧']])
    expect((await register({ ...account(`name-${n++}@example.com`), name })).body.user.name).toBe(stored!)
  const blank = [...invisible, '\u2060 \u00ad', '\u200e\u202e', '\u2800']
  for (const name of [...invalidNames(200), undefined, ...blank])
    expectError(await register({ ...account('nameless@example.com'), name }), 400, /^name /)
})

test('an email address has at most 254 characters and no invisible characters', async () => {
  const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`
  for (const email of [long.padStart(254, 'a'), "o'hara+tag@mail.example.co.uk", 'ä@example.com'])
    expect((await register(account(email))).status).toBe(201)
  const invalid = [
    ...words(
      '@example.com ada ada@ ada@example a@b@example.com a@b..com a@b.com. <a@b.com> a@@b.com a@-b.com',
    ),
    ...[long.padStart(255, 'a'), 'a b@example.com', 'ada@exa mple.com', ...invalidTexts(254), undefined],
    ...invisible.map((hidden) => `hid${hidden}den@example.com`),
  ]
  for (const email of invalid) expectError(await register(account(email as string)), 400, /^email /)
})

test('a password has 6 to 1024 characters and is compared exactly', async () => {
  let n = 0
  for (const secret of ['123456', 'p'.repeat(1024), '  six  ', 'пароль']) {
    const email = `password-${n++}@example.com`
    expect((await register({ ...account(email), password: secret })).status).toBe(201)
    expect((await signIn(email, secret)).status).toBe(200)
    expectError(await signIn(email, secret.slice(1)), 401)
  }
  // UTF-8 encodes every lone surrogate as the same replacement character.
  const texts = ['12345', 'p'.repeat(1025), 'nul\0inside', 'secret\ud800']
  for (const secret of [...texts, 123456, null, ['123456'], undefined])
    expectError(await register({ ...account('careless@example.com'), password: secret }), 400, /^password /)
})

test('an error of registering or signing in names every invalid field', async () => {
  expectError(await register({ name: '', email: 'ada', password: '1' }), 400, /name .*email .*password /)
  expectError(await register({}), 400, /name is required.*email is required.*password is required/)
  for (const wrong of [undefined, null, 1, ['a'], {}])
    expectError(await signIn(wrong, wrong), 400, /^email .*password /)
})

test('registering rejects fields beyond name, email and password, and ignores an id', async () => {
  for (const more of [{ role: 'ADMIN' }, { passwordHash: 'x' }, { tokenVersion: 9 }])
    expectError(await register({ ...account('more@example.com'), ...more }), 400, /is not known here/)
  const { status, body } = await register({ ...account('more@example.com'), id: unknownId })
  expect([status, body.user.id === unknownId]).toEqual([201, false])
})
