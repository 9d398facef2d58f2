import { commands } from '../../modules/commands.ts'

const fieldsOf = ({ input }: (typeof commands)[number]) => Object.keys(input.properties)

test('every command has a unique name of the form noun.verb', () => {
  const names = commands.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(
    names.filter(
      (name) =>
        !/^(project|member|serviceAccount|token|webhook|task|subtask|comment|label|field|view)\.[a-z]+(_[a-z]+)?$/.test(
          name,
        ),
    ),
  ).toEqual([])
})

test('the input of every command contains the id of its target', () => {
  const lost = commands.filter((one) => one.target.kind !== 'new' && !fieldsOf(one).includes(one.target.key))
  expect(lost.map(({ name }) => name)).toEqual([])
})

test('every input schema is plain JSON and rejects unknown fields', () => {
  for (const { name, input } of commands) {
    expect([name, input.additionalProperties]).toEqual([name, false])
    expect([name, JSON.parse(JSON.stringify(input))]).toEqual([
      name,
      expect.objectContaining({ type: 'object' }),
    ])
  }
})

test('every public command has a view or a message, and a location if it creates a row', () => {
  for (const { name, view: shows, message: says, status, creates, location } of commands) {
    if (name === 'task.unassign') continue
    expect([name, Boolean(shows) !== Boolean(says)]).toEqual([name, true])
    expect([name, location !== undefined]).toEqual([name, status === 201 || creates === true])
  }
})
