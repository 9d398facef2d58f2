import { afterAll, beforeAll, expect, test } from 'bun:test'
import { expectRefusal } from '../http/answers.ts'
import { invite, make, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => void (service = await openTestService()))
afterAll(() => service.close())

const noMail = 'This service sends no mail: its operator has not set SMTP_URL'

test('without SMTP_URL every route that needs mail answers 409 and says so', async () => {
  const { client } = service
  const ada = await register(client)
  const token = 'x'.repeat(43)
  expectRefusal(await client.post('/auth/email/verify', { token }), 409, noMail)
  expectRefusal(await ada.post('/auth/email/resend'), 409, noMail)
  expectRefusal(await client.post('/auth/password/forgot', { email: ada.email }), 409, noMail)
  expectRefusal(await client.post('/auth/password/reset', { token, password: 'secret-2' }), 409, noMail)
  expect(await service.services.database.chores`select from outbox`).toHaveLength(0)
})

test('without SMTP_URL an unverified address is invited', async () => {
  const [ada, grace] = [await register(service.client), await register(service.client)]
  const { id } = await make(ada, '/projects', { name: 'P' })
  expect((await invite(ada, id, grace)).userId as unknown).toBe(grace.id)
  const { body } = await grace.get('/auth/me')
  expect(body as unknown).toMatchObject({ id: grace.id, emailVerified: false })
})
