import { Webhook as Signer } from 'standardwebhooks'
import { checkDeliveries } from './deliveries.ts'
import { digest } from './check-lists.ts'
import { eventJson } from './evidence.ts'
import type { Delivery, SignedRequest } from './deliveries.ts'
import { project, validRun } from './sample-run.ts'
import { type Webhook, Webhooks } from './webhooks.ts'

const { evidence } = validRun(6)
const digests = evidence.events.map((event) => digest(eventJson(event, evidence.people)))
const projectRef = { id: project, isPermanent: true } as Webhook['project']

/** A delivery that was received at the step `received` and accepted at the next step. */
const delivery = (received: number, seqs: number[], more: Partial<Delivery> = {}): Delivery => ({
  ...{ path: '/0', id: `delivery of ${seqs.join()}`, received, accepted: received + 1 },
  ...{ projectId: project, seqs, events: seqs.map((seq) => digests[seq - 1]!), body: seqs.join(), ...more },
})

function errorsOf(deliveries: Delivery[], more: Partial<Webhook> = {}, feed = digests): string {
  const webhook: Webhook = {
    ...{ path: '/0', project: projectRef, types: null, created: { id: 'webhook', after: 1 }, secrets: [] },
    ...{ replays: [], isDeleted: false, ...more },
  }
  const feeds = new Map([[project, feed]])
  return checkDeliveries({ webhooks: [webhook], deliveries, feeds }, evidence).join('\n')
}

const failed = { accepted: undefined }
const [first, second] = [delivery(1, [2, 3]), delivery(3, [4, 5, 6])]
const all = [first, second]
const replays = [{ after: 3, since: 4 }]

test('accepts deliveries in order, retries and replays, and missing deliveries of a deleted webhook', () => {
  expect(errorsOf(all)).toBe('')
  expect(errorsOf([delivery(1, [2, 3], failed), delivery(3, [2, 3]), delivery(5, [4, 5, 6])])).toBe('')
  expect(errorsOf([...all, delivery(5, [4, 5, 6])], { replays })).toBe('')
  expect(errorsOf([first], { isDeleted: true })).toBe('')
})

const wrong: Record<string, Parameters<typeof errorsOf>[]> = {
  'was never sent event 4 and 2 later events': [[[first]]],
  'was never sent event 4': [[[first, delivery(3, [4, 5, 6], failed)]]],
  'was sent event 4 before event 2 was accepted': [
    [[delivery(1, [2, 3], failed), second]],
    [[delivery(1, [2, 3], { accepted: 4 }), second]],
  ],
  'which are not consecutive among its events': [
    [[delivery(1, [2, 4, 5, 6])]],
    [[delivery(1, [3, 2, 4, 5, 6])]],
    [[delivery(1, [1, 2, 3]), second]],
    [all, { types: ['task.deleted'] }],
  ],
  'was sent an event 7 that differs from the log': [[[...all, delivery(5, [7], { events: ['x'] })]]],
  'was sent an event 3 that differs from the log': [
    [[delivery(1, [2, 3], { events: [digests[1]!, 'x'] }), second]],
  ],
  'again with a different body': [
    [[delivery(1, [2], { id: 'delivery of 2,3' }), delivery(3, [2, 3]), delivery(5, [4, 5, 6])]],
  ],
  'was not sent the events after 3 again after a replay': [[all, { replays }]],
  'differs from the log at event 5': [[all, {}, [...digests.slice(0, 4), 'x', digests[5]!]]],
  'has only 5 of 6 events': [[all, {}, digests.slice(0, 5)]],
}
test.each(Object.entries(wrong))('reports wrong deliveries: %s', (error, runs) => {
  for (const run of runs) expect(errorsOf(...run)).toContain(error)
})

test('reports a delivery with a wrong signature or path, even if the client learns the secret after the delivery', () => {
  const webhooks = new Webhooks()
  const webhook = webhooks.add(projectRef, null)
  const [own, other] = ['one', 'other'].map((text) => `whsec_${btoa(`a secret of ${text} receiver`)}`)
  const request = (secret: string, path = '/0'): SignedRequest => {
    const now = new Date()
    const headers = {
      'webhook-id': 'id',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Signer(secret).sign('id', now, '{}'),
    }
    return { delivery: delivery(1, [2], { path, id: 'id' }), text: '{}', headers }
  }
  webhooks.verify(request(own!))
  webhooks.addSecret(webhook, own!)
  webhooks.verify(request(own!))
  expect(webhooks.errors).toEqual([])
  webhooks.verify(request(other!))
  webhooks.verify({ ...request(own!), text: '[]' })
  webhooks.verify(request(own!, '/7'))
  expect(webhooks.errors).toHaveLength(3)
})
