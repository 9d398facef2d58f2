import * as argon2 from '@node-rs/argon2'
import { expect, test } from 'bun:test'
import { openPasswords } from '../../src/identity/passwords.ts'
import { register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { absentId, anId, expectAnswer, expectRefusal } from './answers.ts'
import { rightTexts, wrongNames, wrongTexts } from './texts.ts'

const service = await forFile(openTestService())

const password = 'secret-1'
const account = (email: string) => ({ name: 'Ada Lovelace', email, password })
const enrol = (body: unknown) => service.client.post('/auth/register', body)
const signIn = (email: unknown, password: unknown) => service.client.post('/auth/login', { email, password })
const aToken = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)

test('registering answers a token and the user, and nothing of the password', async () => {
  const answer = await enrol(account('ada@example.com'))
  const user = { id: anId, name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false }
  expectAnswer(answer, 201, { access_token: aToken, user })
  const ada = service.client.as(answer.body.access_token)
  expectAnswer(await ada.get('/auth/me'), 200, answer.body.user)
})

test('signing in answers 200 with a token of its own and the user', async () => {
  const { body: registered } = await enrol(account('grace@example.com'))
  const answer = await signIn('grace@example.com', password)
  expectAnswer(answer, 200, { access_token: aToken, user: registered.user })
  expect(answer.body.access_token).not.toBe(registered.access_token)
  expect((await service.client.as(answer.body.access_token).get('/auth/me')).status).toBe(200)
})

test('an email address is one account in every letter case and with blanks around it', async () => {
  const { body } = await enrol(account('  Mary@Example.COM '))
  expect(body.user.email).toBe('mary@example.com')
  for (const email of ['mary@example.com', 'MARY@EXAMPLE.COM', ' mary@example.com\n']) {
    expectRefusal(await enrol(account(email)), 409, /registered already/)
    expect((await signIn(email, password)).status).toBe(200)
  }
})

test('an email address is one account however its letters are composed', async () => {
  const [one, other] = ['Jos\u00e9@example.com', 'Jose\u0301@example.com']
  const { body } = await enrol(account(other))
  expect(body.user.email).toBe('jos\u00e9@example.com')
  for (const email of [one, other]) {
    expectRefusal(await enrol(account(email)), 409, /registered already/)
    expect((await signIn(email, password)).status).toBe(200)
  }
})

test('an account from before addresses were composed is found by either', async () => {
  await service.services.database.chores`update users set email = ${'zoe\u0308@example.com'}
    where id = ${(await enrol(account('zoe@example.com'))).body.user.id}`
  for (const email of ['zo\u00eb@example.com', 'zoe\u0308@example.com']) {
    expectRefusal(await enrol(account(email)), 409, /registered already/)
    expect((await signIn(email, password)).status).toBe(200)
  }
})

test('an email address holds nothing that is not seen', async () => {
  for (const hidden of ['\u200b', '\u00ad', '\u2060', '\u202e', '\u3164', '\u001b', '\u007f', '\ufe0f'])
    expectRefusal(await enrol(account(`hid${hidden}den@example.com`)), 400, /^email /)
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
    expectRefusal(answer, 401, 'Wrong email or password')
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

test('a name is 1 to 200 characters once trimmed', async () => {
  let n = 0
  for (const [name, stored] of rightTexts(200)) {
    const answer = await enrol({ ...account(`name-${n++}@example.com`), name })
    expect(answer.body.user.name).toBe(stored)
  }
  for (const name of [...wrongNames(200), undefined]) {
    expectRefusal(await enrol({ ...account('nameless@example.com'), name }), 400, /^name /)
  }
})

test('an email is one of at most 254 characters', async () => {
  const long = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`
  expect((await enrol(account(long.padStart(254, 'a')))).status).toBe(201)
  const right = ["o'hara+tag@mail.example.co.uk", 'ä@example.com']
  for (const email of right) expect((await enrol(account(email))).status).toBe(201)
  const wrong = [long.padStart(255, 'a'), 'a b@example.com', 'ada@exa mple.com', 'a@@b.com', 'a@-b.com']
  wrong.push(
    '@example.com',
    'ada',
    'ada@',
    'ada@example',
    'a@b@example.com',
    'a@b..com',
    'a@b.com.',
    '<a@b.com>',
  )
  for (const email of [...wrong, ...wrongTexts(254), undefined]) {
    expectRefusal(await enrol(account(email as string)), 400, /^email /)
  }
})

test('a password is 6 to 1024 characters and kept as it is', async () => {
  let n = 0
  for (const secret of ['123456', 'p'.repeat(1024), '  six  ', 'пароль']) {
    const email = `password-${n++}@example.com`
    expect((await enrol({ ...account(email), password: secret })).status).toBe(201)
    expect((await signIn(email, secret)).status).toBe(200)
    expectRefusal(await signIn(email, secret.slice(1)), 401)
  }
  for (const secret of ['12345', 'p'.repeat(1025), 'nul\0inside', 123456, null, ['123456'], undefined]) {
    const answer = await enrol({ ...account('careless@example.com'), password: secret })
    expectRefusal(answer, 400, /^password /)
  }
})

test('a password with half a character is refused, for many would be the same', async () => {
  const answer = await enrol({ ...account('half@example.com'), password: 'secret\ud800' })
  expectRefusal(answer, 400, /^password /)
})

test('a refusal names every field that is wrong', async () => {
  const answer = await enrol({ name: '', email: 'ada', password: '1' })
  expectRefusal(answer, 400, /name .*email .*password /)
  expectRefusal(await enrol({}), 400, /name is required.*email is required.*password is required/)
})

test('a name shows something', async () => {
  for (const name of ['\u200b', '\u2060 \u00ad', '\u3164', '\u200e\u202e', '\u2800', '\ufe0f', '\u001b'])
    expectRefusal(await enrol({ ...account('unseen@example.com'), name }), 400, /^name /)
  expect((await enrol({ ...account('family@example.com'), name: '👩‍👧' })).status).toBe(201)
})

test('signing in takes two strings', async () => {
  for (const wrong of [undefined, null, 1, ['a'], {}]) {
    expectRefusal(await signIn(wrong, password), 400, /^email /)
    expectRefusal(await signIn('ada@example.com', wrong), 400, /^password /)
  }
})

test('who registers cannot choose more than they are asked', async () => {
  for (const more of [{ role: 'ADMIN' }, { passwordHash: 'x' }, { tokenVersion: 9 }]) {
    expectRefusal(await enrol({ ...account('more@example.com'), ...more }), 400, /is not known here/)
  }
  const answer = await enrol({ ...account('more@example.com'), id: absentId })
  expect(answer.status).toBe(201)
  expect(answer.body.user.id).not.toBe(absentId)
})

test('who am I answers the caller, and only with a token', async () => {
  const ada = await register(service.client, 'Ada')
  expectAnswer(await ada.get('/auth/me'), 200, {
    ...{ id: ada.id, name: 'Ada', email: ada.email },
    emailVerified: false,
  })
  expectRefusal(await service.client.get('/auth/me'), 401)
})
