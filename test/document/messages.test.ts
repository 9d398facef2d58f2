import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { make, openScene, unknownId } from '../kit.ts'
import type { Answer, OpenApi, Schema } from '../kit.ts'
import { callsOf } from '../support/schema-check.ts'

const { client, ada } = await openScene(['Ada'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const { id } = await make(ada, '/projects', { name: 'P' })
const calls = [...callsOf(api)]
  .filter(({ path, method }) => !path.includes('logout') && method !== 'DELETE')
  .map((one) => ({ ...one, at: one.path.replace(/\{\w+\}/g, id) }))

/** The words after "must be": they name a value, and do not describe the effect of the field. */
const expected =
  /^(an? [\w-]+|one of \S+(, \S|$)|true$|true or false(, or null)?$|the ids? of|the registered|the system|ids of|event types|at most|the project of the batch)/
const values = [5, 'x\0', '', 'e\ud800', null, true, [], [5], [[null]], { x: 1 }]
const maxCharacters = 110

/** Checks what a message says about a field, and returns the number of messages about the field. */
function expectMessage(name: string, field: string, { status, body }: Answer) {
  if (status !== 400) return 0
  const parts = body.message
    .split('; ')
    .filter((one) => one.replace(/^operations\[0\]: /, '').startsWith(`${field} `))
  for (const part of parts) {
    const [, is = part] = /^.* (?:must be|is required:) (.*)$/.exec(part) ?? []
    if (!/ (is not known here|needs a projectId|needs asOf|is ahead of the project)/.test(part))
      expect([name, part, is]).toEqual([name, part, expect.stringMatching(expected)])
    const rule = part.replace('operations[0]: ', '').replace(/, (but contains|or the `#name`) .*/, '')
    const isTooLong = rule.length > maxCharacters
    expect([name, part, isTooLong || /must be .*: /.test(part)]).toEqual([name, part, false])
  }
  return parts.length
}

const batch = (...operations: unknown[]) => ada.post(`/projects/${id}/batch?dryRun=true`, { operations })

test('the message of an invalid field or operation says what the field must be, without an explanation', async () => {
  const operations = Object.entries(api.components.schemas).filter(([name]) => name.endsWith('Operation'))
  const senders = [
    ...calls.map(({ name, method, at, fields }) => ({
      ...{ name, fields, send: (body: object) => ada.call(method, at, body) },
    })),
    ...operations.map(([name, { properties = {} }]) => {
      const { op, ...fields } = properties
      return { name, fields, send: (body: object) => batch({ op: op!.enum![0], ...body }) }
    }),
  ]
  let messages = 0
  for (const { name, fields, send } of senders)
    for (const [field, { readOnly }] of Object.entries(fields))
      for (const value of readOnly ? [] : values)
        messages += expectMessage(name, field, await send({ [field]: value }))
  expect(messages).toBeGreaterThan(1_600)
})

test('the message of an unknown operation suggests the nearest name', async () => {
  const messageOf = async (operation: unknown) => (await batch(operation)).body.message
  for (const one of [5, null, 'x', [], [{}]])
    expect(await messageOf(one)).toBe('operations[0]: The operation must be an object with the field op')
  const message = 'operations[0]: op must be the name of a command'
  expect(await messageOf({ op: 'task.creat' })).toBe(`${message}; did you mean task.create?`)
  expect(await messageOf({ op: 'sing' })).toBe(message)
})

test('the message of an invalid parameter says what the parameter must be, and %2B replaces the + of a time', async () => {
  let [messages, times] = [0, 0]
  for (const { name, method, at, operation } of calls)
    for (const { name: parameter, in: place, description, schema } of operation.parameters) {
      const send = (query: string) => ada.call(method, `${at}?${query}`, method === 'GET' ? undefined : {})
      for (const value of place === 'query' ? ['%21', '', '%00'] : []) {
        const answer = await send(`${parameter}=${value}`)
        if (parameter !== 'cursor' && !parameter.startsWith('field.'))
          messages += expectMessage(name, parameter, answer)
      }
      if (!`${description}${schema.format}`.includes('date-time')) continue
      for (const time of [
        '2030-01-01T00:00:00+02:00',
        '2030-01-01T00:00+0200',
        '2030-01-01%2000:00:00.5+02:00',
      ]) {
        const { status, body } = await send(`q=x&${parameter}=${time}`)
        const advice = new RegExp(`${parameter} must be .*; write %2B for \\+ in a URL`)
        expect([name, status, body.message]).toEqual([name, 400, expect.stringMatching(advice)])
        times += 1
      }
    }
  expect([messages > 150, times > 20]).toEqual([true, true])
})

test('the message of a text that cannot be stored names the character', async () => {
  const task = `/tasks/${(await make(ada, '/tasks', { projectId: id, title: 'T' })).id}`
  await make(ada, `/projects/${id}/fields`, { key: 'note', name: 'Note', type: 'text' })
  const nul = encodeURIComponent('a\0b')
  const expectRejected = ({ status, body }: Answer, subject: string, what: string) => {
    const message = new RegExp(`^${subject} must be .*, but contains ${what}$`)
    expect([status, body.message]).toEqual([400, expect.stringMatching(message)])
  }
  for (const [text, what] of [
    ['a\0b', 'U\\+0000'],
    ['a\ud800b', 'a lone surrogate'],
  ] as const) {
    for (const field of ['title', 'description', 'externalId'])
      expectRejected(await ada.patch(task, { [field]: text }), field, what)
    expectRejected(await ada.patch(task, { fields: { note: text } }), 'fields.note', what)
    const view = (query: object) => ada.post(`/projects/${id}/views`, { name: 'V', query })
    expectRejected(await view({ q: text }), 'query.q', what)
    for (const name of ['externalId', 'field.note', 'labels']) {
      const { status, body } = await view({ [name]: text })
      expect([status, body.message]).toEqual([400, expect.stringContaining(`query.${name}`)])
    }
  }
  for (const path of ['/search', '/tasks']) expectRejected(await ada.get(`${path}?q=${nul}`), 'q', 'U\\+0000')
})

test('every example matches its schema', () => {
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true }))
  ajv.addSchema(api, 'api')
  const mismatches: string[] = []
  let count = 0
  const check = (example: unknown, at: string) => {
    const validate = ajv.compile({ $ref: `api#${at}` })
    count += 1
    if (!validate(example)) mismatches.push(`${at}: ${ajv.errorsText(validate.errors)}`)
  }
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    const { schema, example, examples } = value as { schema?: object; example?: unknown; examples?: unknown }
    if (schema && example !== undefined) check(example, `${at}/schema`)
    if (Array.isArray(examples)) for (const one of examples) check(one, at)
    for (const [key, one] of Object.entries(value))
      visit(one, `${at}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
  }
  visit(api, '')
  expect(mismatches).toEqual([])
  expect(count).toBeGreaterThan(200)
})

const isText = ({ maxLength, format }: Schema) =>
  maxLength !== undefined && format !== 'email' && format !== 'uri'

const controls = ['ab\u202ecd', '\u2066ab', 'ab\u009b', '\u0085ab']
/** Returns texts with lengths around each bound, made of one-unit and two-unit characters (UTF-16), and texts with control characters. */
const textsAround = ({ minLength = 0, maxLength = 0 }: Schema) => [
  ...[minLength - 1, minLength, maxLength, maxLength + 1]
    .filter((length) => length >= 0)
    .flatMap((length) => ['é', '🪐'].map((one) => one.repeat(length))),
  ...[' \t\n'.repeat(minLength), 'a\0b'.repeat(minLength || 1), `${' '.repeat(7)}ab cd ef${' '.repeat(7)}`],
  ...['\tab\tcd\n', ...controls],
]

test("the service accepts and rejects the same texts as the document's schemas, also at each length limit", async () => {
  const ajv = new Ajv({ strict: false, validateFormats: false }).addSchema(api, 'api')
  let accepted = 0
  for (const { name, method, path, fields, schema, body: example } of callsOf(api))
    for (const [field, one] of Object.entries(fields))
      for (const text of isText(one) ? textsAround(one) : []) {
        const at = path.replace(/\{\w+\}/g, unknownId)
        const { status, body } = await ada.call(method, at, { ...example, [field]: text })
        const isAccepted = status !== 400 || !body.message.startsWith(`${field} must be`)
        const fits = ajv.validate({ $ref: `api${schema!.$ref}/properties/${field}` }, text)
        const label = [name, field, text.length, text.slice(0, 9)]
        expect([...label, isAccepted]).toEqual([...label, fits])
        if (/^(name|title)$/.test(field) && controls.includes(text))
          expect([...label, fits]).toEqual([...label, false])
        if (fits) accepted += 1
      }
  expect(accepted).toBeGreaterThan(80)
})
