import { describe, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { RegisterBody } from '../../modules/accounts/user.ts'
import { ListTasksQuery } from '../../modules/tasks/list-query.ts'
import { CreateTask, taskView, UpdateTask } from '../../modules/tasks/schema.ts'
import { Body } from '../../src/commands/input.ts'
import { normalEmail, optionalText, Text } from '../../src/schema/text.ts'
import { invalid } from '../../src/schema/validation.ts'

const NewTask = Body(CreateTask.properties, taskView.schema)
const { id: _, ...changes } = UpdateTask.properties
const ChangedTask = Body(changes, taskView.schema)

const complaint = (schema: TSchema, value: unknown) =>
  Value.Check(schema, value) ? 'fits' : invalid(Value.Errors(schema, value)).message
const task = { title: 'T', projectId: 'p' }

describe('a refusal of a body or a query', () => {
  const cases: [string, TSchema, unknown, string][] = [
    [
      'what is missing',
      NewTask,
      { projectId: 'p' },
      'title is required: a text of 1 to 500 characters, without control or bidirectional-override characters',
    ],
    [
      'a blank',
      NewTask,
      { ...task, title: '  ' },
      'title must be a text of 1 to 500 characters, without control or bidirectional-override characters',
    ],
    [
      'a wrong kind',
      NewTask,
      { ...task, title: 7 },
      'title must be a text of 1 to 500 characters, without control or bidirectional-override characters',
    ],
    [
      'a null where none may be',
      ChangedTask,
      { title: null },
      'title must be a text of 1 to 500 characters, without control or bidirectional-override characters',
    ],
    ['a wrong choice', ChangedTask, { status: 'LATER' }, 'status must be one of TODO, IN_PROGRESS, DONE'],
    [
      'a wrong instant that may be null',
      ChangedTask,
      { dueDate: 'soon' },
      'dueDate must be an ISO 8601 date-time with offset, or a date (midnight UTC), or null',
    ],
    ['no object', NewTask, [], 'The body must be a JSON object'],
    ['nothing', NewTask, undefined, 'The body must be a JSON object'],
    [
      'a misspelt filter',
      ListTasksQuery,
      { stauts: 'DONE' },
      'stauts is not known here; did you mean status?',
    ],
    [
      'a bad email address',
      RegisterBody,
      { name: 'A', email: 'a@', password: 'secret-1' },
      'email must be an email address of at most 254 characters',
    ],
    [
      'a short password',
      RegisterBody,
      { name: 'A', email: 'a@example.com', password: '12345' },
      'password must be a password of 6 to 1024 characters',
    ],
  ]
  for (const [name, schema, value, message] of cases) {
    test(`names ${name}`, () => expect(complaint(schema, value)).toBe(message))
  }

  test('names every field once, and what each wants', () => {
    const message = complaint(RegisterBody, { email: 'a@', password: 1 })
    expect(message.split('; ').map((part) => part.split(' ')[0])).toEqual(['name', 'email', 'password'])
  })

  test('stays short: five fields, and no more of an unknown name than a hundred characters', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const wide = Type.Object(Object.fromEntries(names.map((name) => [name, Type.String()])))
    expect(complaint(wide, {}).split('; ')).toHaveLength(5)
    expect(complaint(ListTasksQuery, { ['x'.repeat(5_000)]: '1' })).toBe(
      `${'x'.repeat(100)} is not known here`,
    )
  })

  test('names what was meant by a field that is not there', () => {
    const meant = {
      staus: 'status',
      Status: 'status',
      due_date: 'dueDate',
      asignee: 'assigneeId',
      desc: 'description',
    }
    for (const [name, field] of Object.entries(meant)) {
      expect(complaint(ChangedTask, { [name]: 1 })).toBe(`${name} is not known here; did you mean ${field}?`)
    }
    for (const name of ['wheels', 'x', 'a/b~c', 'constructor', 'createdAtt', 'x'.repeat(100)]) {
      expect(complaint(ChangedTask, { [name]: { deep: [1] } })).toBe(`${name} is not known here`)
    }
    expect(complaint(ChangedTask, { '': 1 })).toBe('"" is not known here')
    expect(complaint(ChangedTask, JSON.parse('{"__proto__":{"status":"DONE"}}'))).toBe(
      '__proto__ is not known here',
    )
  })

  test('lets what is only read come along, whatever it is', () => {
    const readOnly = { number: 'x', createdAt: null, updatedAt: [{}] }
    expect(complaint(NewTask, { ...task, ...readOnly })).toBe('fits')
    expect(complaint(NewTask, { ...task, taskId: 'x' })).toBe('taskId is not known here')
  })
})

describe('a text', () => {
  const word = Text(1, 5, 'word')

  test('is measured without the blanks around it', () => {
    expect(['a', 'abcde', '  abcde\n', 'a b'].filter((text) => !Value.Check(word, text))).toEqual([])
    expect(['', ' ', '\t\n', 'abcdef', ' a b c d '].filter((text) => Value.Check(word, text))).toEqual([])
  })

  test('holds nothing that cannot be stored', () => {
    expect(['a\0', '\ud800', 'x\udc00'].filter((text) => Value.Check(word, text))).toEqual([])
    expect(Value.Check(word, '😀😀')).toBe(true)
  })

  test('that is optional and empty is none', () => {
    expect(['  ', '', ' a ', null, undefined].map(optionalText)).toEqual([null, null, 'a', null, undefined])
  })
})

describe('an email address', () => {
  const check = (email: string) =>
    complaint(RegisterBody, { name: 'A', email, password: 'secret-1' }) === 'fits'
  const long = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`

  test('has a name, an at, and a domain', () => {
    const good = [
      'ada@example.com',
      ' Ada@Example.COM ',
      "o'hara+tag@mail.example.co.uk",
      'ä@example.com',
      long(254),
    ]
    expect(good.filter((email) => !check(email))).toEqual([])
  })

  test('is nothing else', () => {
    const bad = [
      '',
      'ada',
      '@example.com',
      'ada@',
      'ada@example',
      'a b@example.com',
      'a@b@example.com',
      'a@-b.com',
    ]
    expect(
      [...bad, 'a@b..com', 'a@b.com.', 'a\0@b.com', '<a@b.com>', '\ud800@b.com', long(255)].filter(check),
    ).toEqual([])
  })

  test('is compared in lower case', () => {
    expect(normalEmail(' Ada@Example.COM ')).toBe('ada@example.com')
  })
})
