import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { checkDeliveries, type Sent } from './check-deliveries.ts'
import { digest } from './check-lists.ts'
import { honest, project, type Told } from './given.ts'
import { type Hook, Hooks } from './hooks.ts'
import type { Letter, Received } from './receivers.ts'
import { shownFact } from './evidence.ts'

const { evidence }: Told = honest(6)
const { facts, people } = evidence
const events = facts.map((fact) => digest(shownFact(fact, people)))
const known = { id: 'hook', after: 1 }
const place = { id: project, lasts: true } as Hook['project']

/** A delivery of some events that came at a step, and was accepted at the next one. */
const delivery = (came: number, seqs: number[], more: Partial<Received> = {}): Received => ({
  ...{ path: '/0', id: `delivery of ${seqs.join()}`, came, accepted: came + 1, projectId: project, seqs },
  ...{ events: seqs.map((seq) => events[seq - 1]!), whole: seqs.join(), ...more },
})

function found(received: Received[], more: Partial<Hook> = {}, feed = events): string {
  const hook: Hook = {
    path: '/0',
    project: place,
    types: null,
    known,
    secrets: [],
    replays: [],
    isGone: false,
    ...more,
  }
  const sent: Sent = { hooks: [hook], received, feeds: new Map([[project, feed]]) }
  return checkDeliveries(sent, evidence).join('\n')
}

const all = [delivery(1, [2, 3]), delivery(3, [4, 5, 6])]

test('all, in order, is right, and so is what comes again until it was accepted, or is asked for again', () => {
  expect(found(all)).toBe('')
  expect(
    found([delivery(1, [2, 3], { accepted: undefined }), delivery(3, [2, 3]), delivery(5, [4, 5, 6])]),
  ).toBe('')
  const replays = [{ after: 3, since: 4 }]
  expect(found([...all, delivery(5, [4, 5, 6])], { replays })).toBe('')
})

test('what never came, or was never accepted, is told', () => {
  expect(found([all[0]!])).toContain('was never sent 4 and 2 more')
  expect(found([all[0]!, delivery(3, [4, 5, 6], { accepted: undefined })])).toContain('was never sent 4')
  expect(found([all[0]!], { isGone: true })).toBe('')
})

test('what comes before its turn is told', () => {
  expect(found([delivery(1, [2, 3], { accepted: undefined }), delivery(3, [4, 5, 6])])).toContain(
    'was sent 4 before it had 2',
  )
  expect(found([delivery(1, [2, 3], { accepted: 4 }), delivery(3, [4, 5, 6])])).toContain(
    'was sent 4 before it had 2',
  )
  expect(found([delivery(1, [2, 4, 5, 6])])).toContain('no stretch of what it wants')
  expect(found([delivery(1, [3, 2, 4, 5, 6])])).toContain('no stretch of what it wants')
})

test('what is not wanted, from before its time or not in the log is told', () => {
  expect(found([delivery(1, [1, 2, 3]), all[1]!])).toContain('no stretch of what it wants')
  expect(found(all, { types: ['task.deleted'] })).toContain('no stretch of what it wants')
  expect(found([...all, delivery(5, [7], { events: ['x'] })])).toContain('was sent another event 7')
  expect(found([delivery(1, [2, 3], { events: [events[1]!, 'x'] }), all[1]!])).toContain(
    'was sent another event 3',
  )
})

test('the same delivery with another body, a replay that was not heard, and another feed are told', () => {
  expect(
    found([delivery(1, [2], { id: 'delivery of 2,3' }), delivery(3, [2, 3]), delivery(5, [4, 5, 6])]),
  ).toContain('again with another body')
  expect(found(all, { replays: [{ after: 3, since: 4 }] })).toContain('was not sent again what comes after 3')
  expect(found(all, {}, [...events.slice(0, 4), 'x', events[5]!])).toContain('shows another event 5')
  expect(found(all, {}, events.slice(0, 5))).toContain('ends at 5 of 6 events')
})

test('a signature by no secret of its webhook is told, once one is known, and what comes to another path', () => {
  const hooks = new Hooks()
  const hook = hooks.add(place, null)
  const secrets = ['one', 'other'].map((text) => `whsec_${btoa(`a secret of ${text} receiver`)}`)
  const letter = (secret: string, path = '/0'): Letter => {
    const now = new Date()
    const signature = new Webhook(secret).sign('id', now, '{}')
    const at = String(Math.floor(now.getTime() / 1_000))
    const headers = { 'webhook-id': 'id', 'webhook-timestamp': at, 'webhook-signature': signature }
    return { received: delivery(1, [2], { path, id: 'id' }), text: '{}', headers }
  }
  hooks.verify(letter(secrets[0]!))
  hooks.learn(hook, secrets[0]!)
  hooks.verify(letter(secrets[0]!))
  expect(hooks.flaws).toEqual([])
  hooks.verify(letter(secrets[1]!))
  hooks.verify({ ...letter(secrets[0]!), text: '[]' })
  hooks.verify(letter(secrets[0]!, '/7'))
  expect(hooks.flaws).toHaveLength(3)
})
