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
    ...{ path: '/0', project: place, types: null, known, secrets: [], replays: [], isGone: false },
    ...more,
  }
  const sent: Sent = { hooks: [hook], received, feeds: new Map([[project, feed]]) }
  return checkDeliveries(sent, evidence).join('\n')
}

const lost = { accepted: undefined }
const all = [delivery(1, [2, 3]), delivery(3, [4, 5, 6])] as const
const [, second] = all
const replays = [{ after: 3, since: 4 }]

test('all, in order, is right, and so is what comes again until it was accepted, or is asked for again', () => {
  expect(found([...all])).toBe('')
  expect(found([delivery(1, [2, 3], lost), delivery(3, [2, 3]), delivery(5, [4, 5, 6])])).toBe('')
  expect(found([...all, delivery(5, [4, 5, 6])], { replays })).toBe('')
  expect(found([all[0]], { isGone: true })).toBe('')
})

const otherOf3 = { events: [events[1]!, 'x'] }
const spoilt: Record<string, Parameters<typeof found>[]> = {
  'was never sent 4 and 2 more': [[[all[0]]]],
  'was never sent 4': [[[all[0], delivery(3, [4, 5, 6], lost)]]],
  'was sent 4 before it had 2': [
    [[delivery(1, [2, 3], lost), second]],
    [[delivery(1, [2, 3], { accepted: 4 }), second]],
  ],
  'no stretch of what it wants': [
    [[delivery(1, [2, 4, 5, 6])]],
    [[delivery(1, [3, 2, 4, 5, 6])]],
    [[delivery(1, [1, 2, 3]), second]],
    [[...all], { types: ['task.deleted'] }],
  ],
  'was sent another event 7': [[[...all, delivery(5, [7], { events: ['x'] })]]],
  'was sent another event 3': [[[delivery(1, [2, 3], otherOf3), second]]],
  'again with another body': [
    [[delivery(1, [2], { id: 'delivery of 2,3' }), delivery(3, [2, 3]), delivery(5, [4, 5, 6])]],
  ],
  'was not sent again what comes after 3': [[[...all], { replays }]],
  'shows another event 5': [[[...all], {}, [...events.slice(0, 4), 'x', events[5]!]]],
  'ends at 5 of 6 events': [[[...all], {}, events.slice(0, 5)]],
}
test.each(Object.entries(spoilt))('of spoilt deliveries it is found: %s', (finding, runs) => {
  for (const run of runs) expect(found(...run)).toContain(finding)
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
