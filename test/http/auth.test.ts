import * as argon2 from '@node-rs/argon2'
import { expect, test } from 'bun:test'
import { openPasswords } from '../../src/identity/passwords.ts'
import { unknownId, anId, expectResponse, expectError } from './responses.ts'
import { words } from '../support/words.ts'
import { validTexts, invalidNames, invalidTexts } from './texts.ts'
import { openScene } from '../support/scene.ts'

const { service, client, sql } = await openScene()

const password = 'secret-1'
const account = (email: string) => ({ name: 'Ada Lovelace', email, password })
const enrol = (body: unknown) => client.post('/auth/register', body)
const signIn = (email: unknown, password: unknown) => client.post('/auth/login', { email, password })
const aToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

test('registering answers a token and the user, and nothing of the password', async () => {
  const answer = await enrol(account('ada@example.com'))
  const user = { id: anId, name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
  expectResponse(answer, 201, { access_token: aToken, user })
  const ada = client.as(answer.body.access_token)
  expectResponse(await ada.get('/auth/me'), 200, answer.body.user)
  expectError(await client.get('/auth/me'), 401)
})

test('signing in answers 200 with a token of its own and the user', async () => {
  const { body: registered } = await enrol(account('grace@example.com'))
  const answer = await signIn('grace@example.com', password)
  expectResponse(answer, 200, { access_token: aToken, user: registered.user })
  expect(answer.body.access_token).not.toBe(registered.access_token)
  expect((await client.as(answer.body.access_token).get('/auth/me')).status).toBe(200)
})

const emails: [how: string, registered: string, stored: string, others: string[]][] = [
  [
    'in every letter case and with blanks around it',
    '  Mary@Example.COM ',
    'mary@example.com',
    ['mary@example.com', 'MARY@EXAMPLE.COM', ' mary@example.com\n'],
  ],
  [
    'however its letters are composed',
    'Jose\u0301@example.com',
    'jos\u00e9@example.com',
    ['Jos\u00e9@example.com', 'Jose\u0301@example.com'],
  ],
]
test.each(emails)('an email address is one account %s', async (_, registered, stored, others) => {
  expect((await enrol(account(registered))).body.user.email).toBe(stored)
  for (const email of others) await expectTaken(email)
})

async function expectTaken(email: string) {
  expectError(await enrol(account(email)), 409, /registered already/)
  expect((await signIn(email, password)).status).toBe(200)
}

test('an account from before addresses were composed is found by either', async () => {
  await sql`update users set email = ${'zoe\u0308@example.com'}
    where id = ${(await enrol(account('zoe@example.com'))).body.user.id}`
  for (const email of ['zo\u00eb@example.com', 'zoe\u0308@example.com']) await expectTaken(email)
})

test('of two who register the same address at once, one succeeds', async () => {
  const answers = await Promise.all([1, 2, 3, 4].map(() => enrol(account('twin@example.com'))))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
})

test('a wrong email and a wrong password get the same answer', async () => {
  await enrol(account('known@example.com'))
  const wrongs = await Promise.all([
    signIn('known@example.com', 'secret-2'),
    signIn('unknown@example.com', password),
    signIn('not an address', password),
    signIn('', ''),
    signIn('known@example.com\0', 'secret-2'),
    signIn('\ud800', '\ud800'),
  ])
  for (const answer of wrongs) {
    expectError(answer, 401, 'Wrong email or password')
    expect(answer.text).toBe(wrongs[0]!.text)
  }
})

test('a wrong email costs one comparison with a hash, as a wrong password does', async () => {
  await enrol(account('compared@example.com'))
  const { passwords } = service.services
  let costs: unknown[] = []
  const verify: typeof argon2.verify = (hashed, ...given) => {
    costs.push(/^(\$[^$]*){3}/.exec(String(hashed))?.[0])
    return argon2.verify(hashed, ...given)
  }
  const { matches } = passwords
  passwords.matches = openPasswords({ ...argon2, verify }).matches
  try {
    for (const email of ['compared@example.com', 'nobody@example.com', 'not an address', '']) {
      costs = []
      expect((await signIn(email, 'secret-2')).status).toBe(401)
      expect([email, costs]).toEqual([email, ['$argon2id$v=19$m=19456,t=2,p=1']])
    }
  } finally {
    passwords.matches = matches
  }
})

const unseen = ['\u200b', '\u00ad', '\u2060', '\u202e', '\u3164', '\u001b', '\u007f', '\ufe0f']

test('a name is 1 to 200 characters once trimmed, and shows something', async () => {
  let n = 0
  for (const [name, stored] of [...validTexts(200), ['👩‍👧', '👩‍👧']])
    expect((await enrol({ ...account(`name-${n++}@example.com`), name })).body.user.name).toBe(stored!)
  for (const name of [...invalidNames(200), undefined, ...unseen, '\u2060 \u00ad', '\u200e\u202e', '\u2800'])
    expectError(await enrol({ ...account('nameless@example.com'), name }), 400, /^name /)
})

test('an email is one of at most 254 characters, and holds nothing that is not seen', async () => {
  const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`
  for (const email of [long.padStart(254, 'a'), "o'hara+tag@mail.example.co.uk", 'ä@example.com'])
    expect((await enrol(account(email))).status).toBe(201)
  const wrong = [
    ...words(
      '@example.com ada ada@ ada@example a@b@example.com a@b..com a@b.com. <a@b.com> a@@b.com a@-b.com',
    ),
    ...[long.padStart(255, 'a'), 'a b@example.com', 'ada@exa mple.com', ...invalidTexts(254), undefined],
    ...unseen.map((hidden) => `hid${hidden}den@example.com`),
  ]
  for (const email of wrong) expectError(await enrol(account(email as string)), 400, /^email /)
})

test('a password is 6 to 1024 characters and kept as it is', async () => {
  let n = 0
  for (const secret of ['123456', 'p'.repeat(1024), '  six  ', 'пароль']) {
    const email = `password-${n++}@example.com`
    expect((await enrol({ ...account(email), password: secret })).status).toBe(201)
    expect((await signIn(email, secret)).status).toBe(200)
    expectError(await signIn(email, secret.slice(1)), 401)
  }
  // Many passwords with half a character would be the same.
  const wrong = ['12345', 'p'.repeat(1025), 'nul\0inside', 'secret\ud800', 123456, null, ['123456']]
  for (const secret of [...wrong, undefined])
    expectError(await enrol({ ...account('careless@example.com'), password: secret }), 400, /^password /)
})

test('a refusal names every field that is wrong', async () => {
  expectError(await enrol({ name: '', email: 'ada', password: '1' }), 400, /name .*email .*password /)
  expectError(await enrol({}), 400, /name is required.*email is required.*password is required/)
})

test('signing in takes two strings', async () => {
  for (const wrong of [undefined, null, 1, ['a'], {}]) {
    expectError(await signIn(wrong, password), 400, /^email /)
    expectError(await signIn('ada@example.com', wrong), 400, /^password /)
  }
})

test('who registers cannot choose more than they are asked', async () => {
  for (const more of [{ role: 'ADMIN' }, { passwordHash: 'x' }, { tokenVersion: 9 }])
    expectError(await enrol({ ...account('more@example.com'), ...more }), 400, /is not known here/)
  const { status, body } = await enrol({ ...account('more@example.com'), id: unknownId })
  expect([status, body.user.id === unknownId]).toEqual([201, false])
})
