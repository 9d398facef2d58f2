import '../../modules/modules.ts'
import { expect, test } from 'bun:test'
import type { Outcome } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { State } from '../../src/actor/state.ts'
import type { StateHolder } from '../../src/actor/prepare.ts'
import { transact, type TransactDependencies } from '../../src/actor/transact.ts'
import { newId, tailOf } from '../../src/ids.ts'
import { queuedCommand } from '../support/queued-command.ts'
import type { CommentRow } from '../../drizzle/rows.ts'

const projectId = newId()

/** A project in which every command writes one comment; commits become what `outcomes` say, one after the other. */
function world(outcomes: Outcome[]) {
  const committed: CommitUnit[] = []
  /** The events that stand, whatever the service was told, by what their ids end in. */
  const stored = new Map<string, StoredEvent>()
  const by = {
    findLanded: async (_project: string, _version: number, orderIds: string[]) =>
      new Map(orderIds.flatMap((id) => [[id, stored.get(tailOf(id))] as const]).filter(([, event]) => event)),
    loader: {
      state: async () => new State(projectId, 1, 0, [...stored.values()].at(-1)?.id),
      rows: async () => {},
    },
    versions: { isCurrent: async () => true },
    commit: async (unit: CommitUnit) => {
      committed.push(unit)
      return outcomes[committed.length - 1]!
    },
    findKept: async () => undefined,
    react: () => [],
    onCommitted: () => {},
  } as unknown as TransactDependencies
  const holder: StateHolder = { projectId, state: null }
  const answers: (string | Error)[] = []
  const post = (name: string) =>
    queuedCommand<string>(newId(), {
      projectId,
      recall: ({ after }) => (after as CommentRow).text,
      decide: (_, { newEventId }) => {
        const id = newEventId()
        const after = { id, taskId: id, authorId: id, text: name, createdAt: '', updatedAt: '', eventId: id }
        const change = {
          id,
          projectId,
          type: 'comment.added',
          entity: 'comment',
          entityId: id,
          before: null,
          after,
        }
        return { changes: [change as unknown as StoredEvent], answer: name }
      },
      deadline: Infinity,
      resolve: (answer) => void answers.push(answer),
      reject: (error) => void answers.push(error as Error),
    }) as QueuedCommand
  const lands = (n: number) => committed[n]!.events.forEach((event) => stored.set(tailOf(event.id), event))
  return { by, holder, answers, committed, post, lands }
}

const refused = new Error('refused')

/** Has something happen before anybody hears how a commit came out. */
function meanwhile(by: TransactDependencies, happens: (outcome: Outcome) => unknown): void {
  const { commit } = by
  by.commit = async (unit) => {
    const outcome = await commit(unit)
    happens(outcome)
    return outcome
  }
}

test('what was tried and stands is not decided again when a later attempt is refused', async () => {
  const { by, holder, answers, committed, post, lands } = world(['unknown', refused])
  // The first attempt arrives while the second is being refused.
  meanwhile(by, (outcome) => outcome instanceof Error && lands(0))
  await transact(by, [holder], [post('one'), post('two')])
  expect(answers.slice(0, 2)).toEqual(['one', 'two'])
  expect(committed).toHaveLength(2)
})

test('nor when it was alone', async () => {
  const { by, holder, answers, committed, post, lands } = world(['unknown', refused])
  meanwhile(by, (outcome) => outcome instanceof Error && lands(0))
  await transact(by, [holder], [post('one')])
  expect(answers).toEqual(['one'])
  expect(committed).toHaveLength(2)
})

test('set apart, a command whose own attempt has landed answers for itself alone', async () => {
  const { by, holder, answers, committed, post, lands } = world([refused, 'unknown', 'committed'])
  meanwhile(by, (outcome) => outcome === 'unknown' && lands(1))
  await transact(by, [holder], [post('one'), post('two')])
  expect(answers).toEqual(['one', 'two'])
  expect(committed.map(({ events }) => events.length)).toEqual([2, 1, 1])
})
