import { importRows } from '../../modules/imports/command.ts'
import type { ImportOperation } from '../../modules/imports/command.ts'
import { createTask } from '../../modules/tasks/commands.ts'
import { newId, read, upTo } from '../kit.ts'
import { openProject } from './memory-project.ts'

interface Case {
  name: string
  by?: string
  elsewhere?: string[]
  given?: ImportOperation[]
  operations: ImportOperation[]
  /** The outcome, the id if it matters, and the beginning of the message. */
  outcomes: string[]
  rows: object[]
}

/** Returns the cases with new ids in place of the words. */
function readCases(): Case[] {
  const ids = new Map<string, string>()
  const idOf = (word: string) => ids.get(word) ?? ids.set(word, newId()).get(word)!
  const text = read('test/unit/importing.yaml').text
  return Bun.YAML.parse(text.replace(/\$[a-z]\b/g, idOf)) as Case[]
}

const cases = readCases().map((one) => [one.name, one] as const)

test.each(cases)(
  'an import %s',
  (_, { by = 'editor', elsewhere = [], given, operations, outcomes, rows }) => {
    const { id: projectId, run, state } = openProject()
    if (given) run(importRows, { projectId, operations: given })
    const other = openProject()
    for (const id of elsewhere) {
      const { answer } = other.run(createTask, { id, projectId: other.id, title: 'T' })
      state.put('task', id, answer as never)
    }
    const dry = run(importRows, { projectId, operations, dryRun: true }, { by })
    const batch = state.version + 1
    const { answer, changes, isBatch } = run(importRows, { projectId, operations }, { by })
    const found = answer.results.map(({ outcome, id, message = '' }, n) => {
      const expected = outcomes[n]!
      return [outcome, expected.includes(` ${id}`) && ` ${id}`, message && `: ${message}`]
        .filter(Boolean)
        .join('')
    })
    for (const [n, one] of found.entries()) expect(one).toStartWith(outcomes[n]!)
    expect(changes.map(({ after }) => after)).toMatchObject(rows)
    expect(changes).toHaveLength(rows.length)
    if (rows.length > 0) expect([isBatch, answer.batch]).toEqual([true, batch])
    expect([dry.changes, dry.answer.results.map(({ outcome }) => outcome)]).toEqual([
      ...[[], answer.results.map(({ outcome }) => outcome)],
    ])
  },
)

test('an import rejects labels beyond the limit of a project', () => {
  const { id: projectId, run } = openProject()
  const operations = upTo(501).map((n): ImportOperation => ({ op: 'label', id: newId(), name: `L${n}` }))
  const { answer, changes } = run(importRows, { projectId, operations })
  expect(answer.results[500]).toMatchObject({
    outcome: 'rejected',
    message: 'A project has at most 500 labels',
  })
  expect(changes).toHaveLength(500)
})
