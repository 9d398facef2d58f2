import { expect, test } from 'bun:test'
import { commands } from '../../modules/commands.ts'

const fieldsOf = ({ input }: (typeof commands)[number]) => Object.keys(input.properties)

test('every command has a name of its own, noun.verb', () => {
  const names = commands.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(
    names.filter(
      (name) =>
        !/^(project|member|serviceAccount|token|webhook|task|subtask|comment)\.[a-z]+(_[a-z]+)?$/.test(name),
    ),
  ).toEqual([])
})

test('every command runs where its own input says', () => {
  const lost = commands.filter((one) => one.target.kind !== 'new' && !fieldsOf(one).includes(one.target.key))
  expect(lost.map(({ name }) => name)).toEqual([])
})

test('every input is plain data that refuses what it does not know', () => {
  for (const { name, input } of commands) {
    expect([name, input.additionalProperties]).toEqual([name, false])
    expect([name, JSON.parse(JSON.stringify(input))]).toEqual([
      name,
      expect.objectContaining({ type: 'object' }),
    ])
  }
})

test('what callers may run answers a view or a message, and what is made says where it is', () => {
  for (const { name, view: shows, message: says, status, location } of commands) {
    if (name === 'task.unassign') continue
    expect([name, Boolean(shows) !== Boolean(says)]).toEqual([name, true])
    expect([name, location !== undefined]).toEqual([name, status === 201])
  }
})
