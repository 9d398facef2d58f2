import '../../modules/modules.ts'
import type { Outcome } from '../../src/commit/commit.ts'
import type { CommitUnit } from '../../src/commit/unit.ts'
import type { QueuedCommand } from '../../src/actor/queued-command.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { State } from '../../src/actor/state.ts'
import type { StatefulActor } from '../../src/actor/decide-group.ts'
import { transact, type TransactDependencies } from '../../src/actor/transact.ts'
import { newId } from '../kit.ts'
import { tailOf } from '../../src/ids.ts'
import { queuedCommand } from '../support/queued-command.ts'
import type { CommentRow } from '../../drizzle/rows.ts'

const projectId = newId()

/** A project in which every command writes one comment. The n-th commit gets the n-th outcome. */
function openProject(outcomes: Outcome[]) {
  const committed: CommitUnit[] = []
  /** The events in the log, by the last part of their ids. */
  const stored = new Map<string, StoredEvent>()
  const by = {
    findCommitted: async (_project: string, _version: number, commandIds: string[]) =>
      new Map(
        commandIds.flatMap((id) => [[id, stored.get(tailOf(id))] as const]).filter(([, event]) => event),
      ),
    loader: {
      state: async () => new State(projectId, 1, 0, [...stored.values()].at(-1)?.id),
      rows: async () => {},
    },
    versions: { isCurrent: async () => true },
    commit: async (unit: CommitUnit) => {
      committed.push(unit)
      return outcomes[committed.length - 1]!
    },
    findRecord: async () => undefined,
    react: () => [],
    onCommitted: () => {},
  } as unknown as TransactDependencies
  const holder: StatefulActor = { projectId, state: null }
  const answers: (string | Error)[] = []
  const command = (name: string) =>
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
  const addToLog = (n: number) => committed[n]!.events.forEach((event) => stored.set(tailOf(event.id), event))
  return { by, holder, answers, committed, command, addToLog }
}

const rejected = new Error('rejected')

function afterCommit(by: TransactDependencies, happens: (outcome: Outcome) => unknown): void {
  const { commit } = by
  by.commit = async (unit) => {
    const outcome = await commit(unit)
    happens(outcome)
    return outcome
  }
}

test.each([
  ['two commands', ['one', 'two']],
  ['one command', ['one']],
])(
  'after a rejected retry of %s, the results of the first commit are read from the log, and nothing is repeated',
  async (_, names) => {
    const { by, holder, answers, committed, command, addToLog } = openProject(['unknown', rejected])
    // The events of the first attempt appear in the log while the second attempt is rejected.
    afterCommit(by, (outcome) => outcome instanceof Error && addToLog(0))
    await transact(by, [holder], names.map(command))
    expect(answers.slice(0, 2)).toEqual(names)
    expect(committed).toHaveLength(2)
  },
)

test('if a rejected batch is retried command by command, each command is searched in the log by itself', async () => {
  const { by, holder, answers, committed, command, addToLog } = openProject([
    rejected,
    'unknown',
    'committed',
  ])
  afterCommit(by, (outcome) => outcome === 'unknown' && addToLog(1))
  await transact(by, [holder], [command('one'), command('two')])
  expect(answers).toEqual(['one', 'two'])
  expect(committed.map(({ events }) => events.length)).toEqual([2, 1, 1])
})
