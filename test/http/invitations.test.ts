import { expect, test } from 'bun:test'
import { openPair, upTo } from '../races/pair.ts'
import { invite, make, type Person, register } from '../support/client.ts'
import { within } from '../support/service.ts'
import { expectRefusal, statusesOf } from './answers.ts'

const inviting = (who: Pick<Person, 'post'>, projectId: string, email: string) =>
  who.post(`/projects/${projectId}/members/invite`, { email })
const dryRun = (who: Person, projectId: string, emails: string[]) =>
  who.post(`/projects/${projectId}/batch?dryRun=true`, {
    operations: emails.map((email) => ({ op: 'member.invite', email })),
  })
const project = (who: Person) => make(who, '/projects', { name: 'P' })

test('an account invites at most INVITATIONS_PER_HOUR times an hour, failed invitations included', () =>
  within({ INVITATIONS_PER_HOUR: '3' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const { id } = await project(ada)
    await invite(ada, id, grace)
    expectRefusal(await inviting(ada, id, grace.email), 409)
    expectRefusal(await inviting(ada, id, 'nobody@example.com'), 404)
    const refused = await inviting(ada, id, 'nobody@example.com')
    expectRefusal(refused, 429, /^Too many requests; try again in \d+ seconds$/)
    expect(refused.headers.get('ratelimit-policy')).toBe('"invitations";q=3;w=3600')
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(3_000, 3_601)
    expect((await inviting(grace, (await project(grace)).id, ada.email)).status).toBe(201)
    expect((await ada.patch(`/projects/${id}`, { name: 'Q' })).status).toBe(200)
  }))

test('a dry run of a batch counts every address that it looks up', () =>
  within({ INVITATIONS_PER_HOUR: '4' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await project(ada)
    const emails = upTo(5).map((n) => `nobody-${n}@example.com`)
    expectRefusal(await dryRun(ada, id, emails), 400, 'operations must hold at most 4 invitations')
    expectRefusal(await dryRun(ada, id, emails.slice(0, 3)), 404, /^operations\[0\]: /)
    expectRefusal(await dryRun(ada, id, emails.slice(0, 2)), 429)
    expectRefusal(await inviting(ada, id, ada.email), 429)
  }))

test('all tokens of an account share its invitations, in all processes', async () => {
  await using pair = await openPair({ INVITATIONS_PER_HOUR: '6' })
  const { atA, atB } = pair
  const { id } = await make(atA, '/projects', { name: 'P' })
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const { token } = (await make(atA, '/tokens', { name: 'T', scopes: ['admin'], expiresAt })) as never as {
    token: string
  }
  const callers = [atA, atB, atA.as(token), atB.as(token)]
  const answers = await Promise.all(upTo(20).map((n) => inviting(callers[n % 4]!, id, 'nobody@example.com')))
  expect(statusesOf(answers)).toEqual({ 404: 6, 429: 14 })
})

test('without limits an account invites as often as it wants', () =>
  within({ INVITATIONS_PER_HOUR: '1', RATE_LIMIT: 'off' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await project(ada)
    for (const _ of upTo(3)) expectRefusal(await inviting(ada, id, 'nobody@example.com'), 404)
  }))
