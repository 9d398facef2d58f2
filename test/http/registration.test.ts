import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { readAdmin } from '../../workers/admin/admin.ts'
import { type TestService, within } from '../support/service.ts'
import { expectRefusal } from './answers.ts'

const account = (email: string) => ({ name: 'Ada', email, password: 'secret-1' })
const registering = ({ client }: TestService, email: string) => client.post('/auth/register', account(email))

test('closed registration rejects with 403, and an operator still makes accounts', () =>
  within({ REGISTRATION: 'closed' }, async (service) => {
    const closed = 'Registration is closed: ask the operator of this service for an account'
    expectRefusal(await registering(service, 'ada@example.com'), 403, closed)
    const create = readAdmin(['users', 'create', 'ada@example.com', 'Ada'])
    const { text } = await (create as Exclude<typeof create, { code: number }>)({
      config: service.services.config,
      sql: service.services.database.chores,
    })
    const password = / password (\S{20})/.exec(text)![1]!
    const { status } = await service.client.post('/auth/login', { email: 'ada@example.com', password })
    expect(status).toBe(200)
  }))

test('registration for some domains rejects addresses of other domains with 403', () =>
  within({ REGISTRATION: 'example.com, Example.org' }, async (service) => {
    for (const email of ['ada@example.com', 'Ada@EXAMPLE.ORG'])
      expect((await registering(service, email)).status).toBe(201)
    for (const email of ['ada@example.net', 'ada@sub.example.com', 'ada@notexample.com'])
      expectRefusal(
        await registering(service, email),
        403,
        'Registration takes addresses of example.com, example.org',
      )
    expectRefusal(await registering(service, 'nobody'), 400, /^email must be /)
  }))

test('REGISTRATION is open, closed or a list of domains', () => {
  const read = (REGISTRATION: string) => readConfig({ REGISTRATION }).registration
  expect([read(''), read('open'), read('closed'), read('a.example,b.example')]).toEqual([
    'open',
    'open',
    'closed',
    ['a.example', 'b.example'],
  ])
  for (const wrong of ['close', '@example.com', 'a.example,', 'a example.com'])
    expect(() => read(wrong)).toThrow(/^REGISTRATION must be open, closed or domains /)
})
