import { expectError, openTestService, readConfig, register, withService } from '../kit.ts'
import type { Client, TestService } from '../kit.ts'
import { parseAdmin } from '../../workers/one-off/admin.ts'

const account = (email: string) => ({ name: 'Ada', email, password: 'secret-1' })
const registerEmail = ({ client }: TestService, email: string) =>
  client.post('/auth/register', account(email))

test('REGISTRATION=closed rejects registrations with 403, and the operator can create accounts', () =>
  withService({ REGISTRATION: 'closed' }, async (service) => {
    const closed = 'Registration is closed: ask the operator of this service for an account'
    expectError(await registerEmail(service, 'ada@example.com'), 403, closed)
    const create = parseAdmin(['users', 'create', 'ada@example.com', 'Ada'])
    const { text } = await (create as Exclude<typeof create, { code: number }>)({
      config: service.services.config,
      sql: service.services.database.background,
    })
    const password = / password (\S{20})/.exec(text)![1]!
    const { status } = await service.client.post('/auth/login', { email: 'ada@example.com', password })
    expect(status).toBe(200)
  }))

test('REGISTRATION with a list of domains rejects addresses of other domains with 403', () =>
  withService({ REGISTRATION: 'example.com, Example.org' }, async (service) => {
    for (const email of ['ada@example.com', 'Ada@EXAMPLE.ORG'])
      expect((await registerEmail(service, email)).status).toBe(201)
    const message = 'Registration accepts only addresses of example.com, example.org'
    for (const email of ['ada@example.net', 'ada@sub.example.com', 'ada@notexample.com'])
      expectError(await registerEmail(service, email), 403, message)
    expectError(await registerEmail(service, 'nobody'), 400, /^email must be /)
  }))

test('REGISTRATION accepts open, closed or a list of domains', () => {
  const read = (REGISTRATION: string) => readConfig({ REGISTRATION }).registration
  expect(['', 'open', 'closed'].map(read)).toEqual(['open', 'open', 'closed'])
  expect(read('a.example,b.example')).toEqual(['a.example', 'b.example'])
  for (const wrong of ['close', '@example.com', 'a.example,', 'a example.com'])
    expect(() => read(wrong)).toThrow(/^REGISTRATION must be open, closed or domains /)
})

let people = 0
const registerWith = (client: Client, password: string) =>
  client.post('/auth/register', { name: 'Ada', email: `new-password-${++people}@example.com`, password })

describe('PASSWORD_MIN_CHARACTERS', () => {
  test('raises the minimum of new passwords, counted in characters', () =>
    withService({ PASSWORD_MIN_CHARACTERS: '10' }, async ({ client }) => {
      const message = 'password must be a password of 10 to 1024 characters'
      for (const short of ['123456', '123456789', '🪐'.repeat(9)])
        expectError(await registerWith(client, short), 400, message)
      const { status, body } = await registerWith(client, '🪐'.repeat(10))
      expect(status).toBe(201)
      const change = { password: 'too short', currentPassword: '🪐'.repeat(10) }
      expectError(await client.as(body.access_token).patch('/auth/me', change), 400, message)
    }))

  test('does not apply to existing passwords', async () => {
    await using service = await openTestService()
    expect((await registerWith(service.client, 'password')).status).toBe(201)
    const { email } = await register(service.client)
    await using raised = await openTestService({ ...service.env, PASSWORD_MIN_CHARACTERS: '12' })
    const { status, body } = await raised.client.post('/auth/login', { email, password: 'secret-1' })
    expect(status).toBe(200)
    const change = { password: 'a longer secret', currentPassword: 'secret-1' }
    expect((await raised.client.as(body.access_token).patch('/auth/me', change)).status).toBe(200)
  })

  test('is never below six', () => {
    expect(readConfig({}).passwordMinCharacters).toBe(6)
    expect(() => readConfig({ PASSWORD_MIN_CHARACTERS: '5' })).toThrow(/PASSWORD_MIN_CHARACTERS must be .* 6/)
  })
})

describe('PASSWORD_REJECT_COMMON', () => {
  test('rejects the most common passwords, in every letter case', () =>
    withService({ PASSWORD_REJECT_COMMON: 'on' }, async ({ client }) => {
      const wrong = 'password must not be one of the 10,000 most common passwords'
      for (const common of ['123456', 'password', 'Password', 'TRUSTNO1', 'iloveyou'])
        expectError(await registerWith(client, common), 400, wrong)
      const { status, body } = await registerWith(client, 'secret-1')
      expect(status).toBe(201)
      const ada = client.as(body.access_token)
      const change = (password: string) => ada.patch('/auth/me', { password, currentPassword: 'secret-1' })
      expectError(await change('qwertyuiop'), 400, wrong)
      expect((await change('a plate of brass')).status).toBe(200)
    }))
})
