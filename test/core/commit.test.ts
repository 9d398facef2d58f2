import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import { openCommit } from '../../src/commit/commit.ts'
import type { Unit } from '../../src/commit/unit.ts'
import { newId, nilId } from '../../src/ids.ts'
import { noCommits } from '../../src/metrics/counts.ts'
import { unreached } from '../../src/postgres/errors.ts'

const unit = (): Unit => {
  const head = { projectId: newId(), expected: 0, expectedEventId: nilId, version: 1, lastNumber: 0 }
  return { heads: [{ ...head, lastEventId: newId() }], events: [], jobs: [], kept: [] }
}

test('of a commit without an answer nobody knows whether it stands', async () => {
  const outcomes = async (answer: () => Promise<unknown>) => {
    const counts = noCommits()
    const limits = { slots: 1, events: 10, shapes: 10, timeoutMs: 50 }
    const outcome = await openCommit({ unsafe: answer } as never, limits, counts)(unit())
    return [outcome, counts.units]
  }
  const unknown = { won: 0, lost: 0, unknown: 1, refused: 0 }
  const broken = () => Promise.reject(unreached('CONNECTION_CLOSED', 'gone'))
  expect(await outcomes(broken)).toEqual(['unknown', unknown])
  expect(await outcomes(() => new Promise(() => {}))).toEqual(['unknown', unknown])
  expect(await outcomes(async () => [{ won: null }])).toEqual(['lost', { ...unknown, lost: 1, unknown: 0 }])
})
