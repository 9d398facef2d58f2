import '../../modules/model.ts'
import { expect, test } from 'bun:test'
import { Mailbox } from '../../src/actor/mailbox.ts'
import type { Posted } from '../../src/actor/work.ts'
import { newId } from '../../src/ids.ts'
import { later, workOf } from '../support/works.ts'

const projectId = newId()
const letter = (needs: Posted['work']['needs']): Posted => {
  const work = workOf(newId(), { projectId, needs, decide: () => ({ changes: [], answer: undefined }) })
  return { work, deadline: later(), resolve: () => {}, reject: () => {} }
}
const reading = () => letter({ past: { seqs: [1], authorize: () => {} } })

/** How many commands are taken together, until none is left. */
function sizes(letters: Posted[]): number[] {
  const mailbox = new Mailbox(100)
  for (const one of letters) mailbox.put(one)
  const taken: Posted[][] = []
  while (mailbox.size > 0) taken.push(mailbox.take(512) as Posted[])
  expect(taken.flat()).toEqual(letters)
  return taken.map(({ length }) => length)
}

test('takes few commands together that read the log, and as many others as wait', () => {
  expect(sizes(Array.from({ length: 10 }, reading))).toEqual([4, 4, 2])
  expect(sizes(Array.from({ length: 50 }, () => letter(undefined)))).toEqual([50])
  const mixed = Array.from({ length: 12 }, (_, n) => (n % 2 ? reading() : letter(undefined)))
  expect(sizes(mixed)).toEqual([9, 3])
})
