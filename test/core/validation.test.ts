import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { RegisterBody } from '../../modules/accounts/sign-in.ts'
import { CreateTask, taskView, UpdateTask } from '../../modules/tasks/schema.ts'
import { Body, Input } from '../../src/schema/input.ts'
import { validationError } from '../../src/schema/validation.ts'

const NewTask = Body(CreateTask.properties, taskView.schema)
const { id: _, ...changes } = UpdateTask.properties
const ChangedTask = Body(changes, taskView.schema)

const complaint = (schema: TSchema, value: unknown) =>
  Value.Check(schema, value) ? 'fits' : validationError(Value.Errors(schema, value)).message
const task = { title: 'T', projectId: 'p' }

describe('validation error', () => {
  const title = 'a text of 1 to 500 characters, without control or bidirectional-override characters'
  const due = 'an ISO 8601 date-time with offset, or a date (midnight UTC), or null'
  const account = { name: 'A', email: 'ada@example.com', password: 'secret-1' }
  const cases: [string, TSchema, unknown, string][] = [
    ['a missing field', NewTask, { projectId: 'p' }, `title is required: ${title}`],
    ['a blank text', NewTask, { ...task, title: '  ' }, `title must be ${title}`],
    ['a null in a required field', ChangedTask, { title: null }, `title must be ${title}`],
    [
      'a value outside of an enumeration',
      ChangedTask,
      { status: 'LATER' },
      'status must be one of TODO, IN_PROGRESS, DONE',
    ],
    ['an invalid time in a nullable field', ChangedTask, { dueDate: 'soon' }, `dueDate must be ${due}`],
    ['a body that is not an object', NewTask, [], 'The body must be a JSON object'],
    ['a missing body', NewTask, undefined, 'The body must be a JSON object'],
    [
      'an invalid email address',
      RegisterBody,
      { ...account, email: 'a@' },
      'email must be an email address of at most 254 characters',
    ],
    [
      'a short password',
      RegisterBody,
      { ...account, password: '12345' },
      'password must be a password of 6 to 1024 characters',
    ],
  ]
  for (const [name, schema, value, message] of cases)
    test(`describes ${name}`, () => expect(complaint(schema, value)).toBe(message))

  test('names at most five fields, and shows at most 100 characters of an unknown name', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const wide = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])))
    expect(complaint(wide, {}).split('; ')).toHaveLength(5)
    expect(complaint(Input({}), { ['x'.repeat(5_000)]: '1' })).toBe(`${'x'.repeat(100)} is not known here`)
  })

  test('suggests the nearest name for an unknown field', () => {
    const meant = {
      staus: 'status',
      Status: 'status',
      due_date: 'dueDate',
      asignee: 'assigneeId',
      desc: 'description',
    }
    for (const [name, field] of Object.entries(meant))
      expect(complaint(ChangedTask, { [name]: 1 })).toBe(`${name} is not known here; did you mean ${field}?`)
    for (const name of ['wheels', 'x', 'a/b~c', 'constructor', 'createdAtt', 'x'.repeat(100)])
      expect(complaint(ChangedTask, { [name]: { deep: [1] } })).toBe(`${name} is not known here`)
    expect(complaint(ChangedTask, { '': 1 })).toBe('"" is not known here')
    expect(complaint(ChangedTask, JSON.parse('{"__proto__":{"status":"DONE"}}'))).toBe(
      '__proto__ is not known here',
    )
  })
})
