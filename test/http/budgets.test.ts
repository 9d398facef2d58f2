import { expect, test } from 'bun:test'
import { tally, upTo } from '../races/pair.ts'
import { make, register, withToken } from '../support/client.ts'
import { within } from '../support/service.ts'
import { expectRefusal, leftOf, statusesOf } from './answers.ts'

test('budgets are not taken by who was signed out, though their repeats are answered', () =>
  within({ WRITES_PER_MINUTE: '3' }, async ({ client }) => {
    const ada = await register(client)
    const keyed = { 'idempotency-key': 'k' }
    expect((await ada.post('/auth/logout', undefined, keyed)).status).toBe(200)
    for (const _ of upTo(3)) expect((await ada.post('/auth/logout', undefined, keyed)).status).toBe(200)
    expectRefusal(await ada.post('/auth/logout-all', undefined, { 'idempotency-key': 'l' }), 429)
    const signedIn = await client.post('/auth/login', { email: ada.email, password: 'secret-1' })
    expect(leftOf(await client.as(signedIn.body.access_token).post('/projects', { name: 'P' }))).toBe(1)
  }))

test('budgets are of a token, and four times that of all tokens of an account', () =>
  within({ READS_PER_MINUTE: '5' }, async ({ client }) => {
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
  within({ WRITES_PER_MINUTE: '10' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await make(ada, '/projects', { name: 'P' })
    const batch = (count: number) =>
      ada.post(`/projects/${id}/batch`, {
        operations: upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` })),
      })
    const first = await batch(2)
    expect([first.status, leftOf(first)]).toEqual([200, 7])
    const answers = await Promise.all(upTo(3).map(() => batch(20)))
    expect(statusesOf(answers)).toEqual({ 200: 1, 429: 2 })
    expectRefusal(await ada.post('/projects', { name: 'Q' }), 429)
    expect((await ada.get(`/projects/${id}`)).headers.get('docket-version')).toBe('23')
  }))

test('budgets count the events that an undo names', () =>
  within({ WRITES_PER_MINUTE: '20' }, async ({ client }) => {
    const ada = await register(client)
    const { id: projectId } = await make(ada, '/projects', { name: 'P' })
    for (const n of upTo(3)) await make(ada, '/tasks', { title: `T${n}`, projectId })
    const undone = await ada.post(`/projects/${projectId}/undo`, { seqs: [2, 3, 4] })
    expect([undone.status, leftOf(undone)]).toEqual([200, 13])
  }))
