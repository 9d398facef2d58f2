import { expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { upTo } from '../races/pair.ts'
import { type Answer, invite, make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { ada, bea } = await openScene(['Ada', 'Bea'])

/** Sends the same write with one key, later and later while the first is under way. */
async function repeatedly(ask: (key: Record<string, string>) => Promise<Answer>): Promise<Answer[]> {
  const key = { 'idempotency-key': newId() }
  const answers = upTo(8).map(async (n) => {
    for (let turn = 0; turn < n * 2; turn++) await new Promise(setImmediate)
    return ask(key)
  })
  return Promise.all(answers)
}

test('repeats of a write that takes its own id, rights or target are answered like the first', async () => {
  for (const _ of upTo(10)) {
    const { id } = await make(ada, '/projects', { name: 'P' })
    const member = await invite(ada, id, bea, 'ADMIN')
    const role = `/projects/${id}/members/${member.id}/role`
    const own = newId()
    const all = [
      await repeatedly((key) => ada.post('/projects', { name: 'Own', id: own }, key)),
      await repeatedly((key) => bea.call('PATCH', role, { role: 'VIEWER' }, key)),
      await repeatedly((key) => ada.call('DELETE', `/projects/${id}`, undefined, key)),
    ]
    for (const answers of all) {
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect([200, 201]).toContain(answers[0]!.status)
    }
  }
})
