import { expect, test } from 'bun:test'
import { tally, upTo, openPair } from '../races/pair.ts'
import { invite, make, makeToken, type Person, register, withToken } from '../support/client.ts'
import { withService } from '../support/service.ts'
import { expectError, remainingBudget, countStatuses } from './responses.ts'

test('budgets are not taken by who was signed out, though their repeats are answered', () =>
  withService({ WRITES_PER_MINUTE: '3' }, async ({ client }) => {
    const ada = await register(client)
    const keyed = { 'idempotency-key': 'k' }
    expect((await ada.post('/auth/logout', undefined, keyed)).status).toBe(200)
    for (const _ of upTo(3)) expect((await ada.post('/auth/logout', undefined, keyed)).status).toBe(200)
    expectError(await ada.post('/auth/logout-all', undefined, { 'idempotency-key': 'l' }), 429)
    const signedIn = await client.post('/auth/login', { email: ada.email, password: 'secret-1' })
    expect(
      remainingBudget(await client.as(signedIn.body.access_token).post('/projects', { name: 'P' })),
    ).toBe(1)
  }))

test('budgets are of a token, and four times that of all tokens of an account', () =>
  withService({ READS_PER_MINUTE: '5' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const statuses: number[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const program = await withToken(ada, { name })
      for (const _ of upTo(6)) statuses.push((await program.get('/projects')).status)
    }
    expect(tally(statuses)).toEqual({ 200: 4 * 5, 429: 6 * 6 - 4 * 5 })
    expect(tally(statuses.slice(0, 6))).toEqual({ 200: 5, 429: 1 })
    for (const one of [ada, grace]) expect((await one.get('/projects')).status).toBe(200)
  }))

test('budgets count what a batch holds: the one that goes beyond the budget is the last', () =>
  withService({ WRITES_PER_MINUTE: '10' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await make(ada, '/projects', { name: 'P' })
    const batch = (count: number) =>
      ada.post(`/projects/${id}/batch`, {
        operations: upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` })),
      })
    const first = await batch(2)
    expect([first.status, remainingBudget(first)]).toEqual([200, 7])
    const answers = await Promise.all(upTo(3).map(() => batch(20)))
    expect(countStatuses(answers)).toEqual({ 200: 1, 429: 2 })
    expectError(await ada.post('/projects', { name: 'Q' }), 429)
    expect((await ada.get(`/projects/${id}`)).headers.get('docket-version')).toBe('23')
  }))

test('budgets count the events that an undo names', () =>
  withService({ WRITES_PER_MINUTE: '20' }, async ({ client }) => {
    const ada = await register(client)
    const { id: projectId } = await make(ada, '/projects', { name: 'P' })
    for (const n of upTo(3)) await make(ada, '/tasks', { title: `T${n}`, projectId })
    const undone = await ada.post(`/projects/${projectId}/undo`, { seqs: [2, 3, 4] })
    expect([undone.status, remainingBudget(undone)]).toEqual([200, 13])
  }))

const inviting = (who: Pick<Person, 'post'>, projectId: string, email: string) =>
  who.post(`/projects/${projectId}/members/invite`, { email })
const dryRun = (who: Person, projectId: string, emails: string[]) =>
  who.post(`/projects/${projectId}/batch?dryRun=true`, {
    operations: emails.map((email) => ({ op: 'member.invite', email })),
  })
const project = (who: Person) => make(who, '/projects', { name: 'P' })

test('an account invites at most INVITATIONS_PER_HOUR times an hour, failed invitations included', () =>
  withService({ INVITATIONS_PER_HOUR: '3' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const { id } = await project(ada)
    await invite(ada, id, grace)
    expectError(await inviting(ada, id, grace.email), 409)
    expectError(await inviting(ada, id, 'nobody@example.com'), 404)
    const refused = await inviting(ada, id, 'nobody@example.com')
    expectError(refused, 429, /^Too many requests; try again in \d+ seconds$/)
    expect(refused.headers.get('ratelimit-policy')).toBe('"invitations";q=3;w=3600')
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(3_000, 3_601)
    expect((await inviting(grace, (await project(grace)).id, ada.email)).status).toBe(201)
    expect((await ada.patch(`/projects/${id}`, { name: 'Q' })).status).toBe(200)
  }))

test('a dry run of a batch counts every address that it looks up', () =>
  withService({ INVITATIONS_PER_HOUR: '4' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await project(ada)
    const emails = upTo(5).map((n) => `nobody-${n}@example.com`)
    expectError(await dryRun(ada, id, emails), 400, 'operations must hold at most 4 invitations')
    expectError(await dryRun(ada, id, emails.slice(0, 3)), 404, /^operations\[0\]: /)
    expectError(await dryRun(ada, id, emails.slice(0, 2)), 429)
    expectError(await inviting(ada, id, ada.email), 429)
  }))

test('all tokens of an account share its invitations, in all processes', async () => {
  await using pair = await openPair({ INVITATIONS_PER_HOUR: '6' })
  const { atA, atB } = pair
  const { id } = await make(atA, '/projects', { name: 'P' })
  const { token } = await makeToken(atA)
  const callers = [atA, atB, atA.as(token), atB.as(token)]
  const answers = await Promise.all(upTo(20).map((n) => inviting(callers[n % 4]!, id, 'nobody@example.com')))
  expect(countStatuses(answers)).toEqual({ 404: 6, 429: 14 })
})

test('without limits an account invites as often as it wants', () =>
  withService({ INVITATIONS_PER_HOUR: '1', RATE_LIMIT: 'off' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await project(ada)
    for (const _ of upTo(3)) expectError(await inviting(ada, id, 'nobody@example.com'), 404)
  }))

test('budgets count a hundred writes for a removal that revokes, alone and in a batch', () =>
  withService({ WRITES_PER_MINUTE: '99' }, async ({ client }) => {
    const guest = await register(client)
    for (const isBatch of [false, true]) {
      const ada = await register(client)
      const { id: projectId } = await make(ada, '/projects', { name: 'P' })
      const { id: memberId } = await invite(ada, projectId, guest)
      const operations = [{ op: 'member.remove', memberId, revoke: 'true' }]
      const answer = await (isBatch
        ? ada.post(`/projects/${projectId}/batch`, { operations })
        : ada.delete(`/projects/${projectId}/members/${memberId}?revoke=true`))
      expect([answer.status, remainingBudget(answer)]).toEqual([200, 0])
    }
  }))
