import { make, type OpenApi, openScene, type Schema } from '../kit.ts'
import { callsOf } from '../support/schema-check.ts'

const { service, client, ada } = await openScene(['Ada'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const { id } = await make(ada, '/projects', { name: 'P' })
const calls = [...callsOf(api)]
  .filter(({ path, method }) => !path.includes('logout') && method !== 'DELETE')
  .map((one) => ({ ...one, at: one.path.replace(/\{\w+\}/g, id) }))

/** The words after "must be": they name a value, and do not describe the effect of the field. */
const expected =
  /^(an? [\w-]+|one of \S+(, \S|$)|true$|true or false(, or null)?$|the ids? of|the registered|the system|ids of|event types|at most|the project of the batch)/
const values = [5, 'x\0', '', 'e\ud800', null, true, [], [5], [[null]], { x: 1 }]

/** Checks what a message says about a field, and returns the number of messages about the field. */
function expectMessage(
  name: string,
  field: string,
  { status, body }: { status: number; body: { message?: string } },
) {
  if (status !== 400) return 0
  const parts = body
    .message!.split('; ')
    .filter((one) => one.replace(/^operations\[0\]: /, '').startsWith(`${field} `))
  for (const part of parts) {
    const [, is = part] = /^.* (?:must be|is required:) (.*)$/.exec(part) ?? []
    if (!/ (is not known here|needs a projectId|needs asOf|is ahead of the project)/.test(part))
      expect([name, part, is]).toEqual([name, part, expect.stringMatching(expected)])
  }
  return parts.length
}

test('the message of an invalid field says what the field must be', async () => {
  let messages = 0
  for (const { name, method, at, fields } of calls)
    for (const [field, { readOnly }] of Object.entries(fields))
      for (const value of readOnly ? [] : values)
        messages += expectMessage(name, field, await ada.call(method, at, { [field]: value }))
  expect(messages).toBeGreaterThan(800)
})

test('the message of an invalid operation says what its field must be', async () => {
  let messages = 0
  const operations = Object.entries(api.components.schemas).filter(([name]) => name.endsWith('Operation'))
  for (const [, { properties = {} }] of operations) {
    const [op] = properties.op!.enum!
    for (const [field, { readOnly }] of Object.entries(properties as Record<string, Schema>))
      for (const value of readOnly || field === 'op' ? [] : values) {
        const body = { operations: [{ op, [field]: value }] }
        const answer = await ada.post(`/projects/${id}/batch?dryRun=true`, body)
        messages += expectMessage(String(op), field, answer)
      }
  }
  expect(messages).toBeGreaterThan(800)
  for (const one of [5, null, 'x', [], [{}]]) {
    const { status, body } = await ada.post(`/projects/${id}/batch`, { operations: [one] })
    const message = 'operations[0]: The operation must be an object with the field op'
    expect([status, body.message]).toEqual([400, message])
  }
})

test('the message of an invalid parameter says what the parameter must be', async () => {
  let messages = 0
  for (const { name, method, at, operation } of calls)
    for (const one of operation.parameters.filter(({ in: place }) => place === 'query'))
      for (const value of ['%21', '', '%00']) {
        const answer = await ada.call(method, `${at}?${one.name}=${value}`, method === 'GET' ? undefined : {})
        if (one.name !== 'cursor' && !one.name.startsWith('field.'))
          messages += expectMessage(name, one.name, answer)
      }
  expect(messages).toBeGreaterThan(150)
})

test('a time with an unencoded + in a query gets the advice to write %2B', async () => {
  let times = 0
  for (const { name, method, at, operation } of calls)
    for (const { name: parameter, description, schema } of operation.parameters)
      if (`${description}${schema.format}`.includes('date-time'))
        for (const time of [
          '2030-01-01T00:00:00+02:00',
          '2030-01-01T00:00+0200',
          '2030-01-01%2000:00:00.5+02:00',
        ]) {
          const { status, body } = await ada.call(
            method,
            `${at}?q=x&${parameter}=${time}`,
            method === 'GET' ? undefined : {},
          )
          expect([name, status, body.message]).toEqual([
            name,
            400,
            expect.stringMatching(new RegExp(`${parameter} must be .*; write %2B for \\+ in a URL`)),
          ])
          times += 1
        }
  expect(times).toBeGreaterThan(20)
})

test('a missing body gets a message that asks for a body', async () => {
  let bodies = 0
  for (const { name, method, at, operation } of calls)
    if (operation.requestBody?.required && operation.requestBody.content?.['application/json']) {
      const headers = { authorization: `Bearer ${ada.token}`, 'content-type': 'application/json' }
      const answer = await service.fetch(`/api/v1${at}`, { method, headers })
      const { message } = (await answer.json()) as { message?: string }
      expect([name, answer.status, message]).toEqual([name, 400, 'A body is required: send a JSON object'])
      bodies += 1
    }
  expect(bodies).toBeGreaterThan(20)
})

test('the message of a text that cannot be stored names the character', async () => {
  const { id: taskId } = await make(ada, '/tasks', { projectId: id, title: 'T' })
  await make(ada, `/projects/${id}/fields`, { key: 'note', name: 'Note', type: 'text' })
  for (const [text, what] of [
    ['a\0b', 'U+0000'],
    ['a\ud800b', 'a lone surrogate'],
  ] as const)
    for (const [field, body] of [
      ['title', { title: text }],
      ['description', { description: text }],
      ['externalId', { externalId: text }],
      ['fields.note', { fields: { note: text } }],
    ] as const) {
      const { status, body: error } = await ada.patch(`/tasks/${taskId}`, body)
      expect([status, error.message]).toEqual([
        400,
        expect.stringMatching(
          new RegExp(`^${field} must be a text .*, but contains ${what.replace('+', '\\+')}$`),
        ),
      ])
    }
})

test('the message of a search, a view or a list with U+0000 names the character', async () => {
  const text = 'a\0b'
  const view = { name: 'V', query: { q: text } }
  const field = { key: 'size', name: 'Size', type: 'choice', options: ['S', text] }
  const encoded = encodeURIComponent(text)
  for (const [subject, answer] of [
    ['q', await ada.get(`/search?q=${encoded}`)],
    ['q', await ada.get(`/tasks?q=${encoded}`)],
    ['query.q', await ada.post(`/projects/${id}/views`, view)],
    ['options', await ada.post(`/projects/${id}/fields`, field)],
  ] as const) {
    expect(answer.status).toBe(400)
    expect(answer.body.message).toMatch(new RegExp(`^${subject} must be .*, but contains U\\+0000$`))
  }
})

test('the place of a task must be the id of a task', async () => {
  for (const field of ['before', 'after']) {
    const { body } = await ada.post('/tasks', { projectId: id, title: 'T', [field]: 5 })
    expect(body.message).toBe(`${field} must be the id of a task`)
    const { body: batch } = await ada.post(`/projects/${id}/batch`, {
      operations: [{ op: 'task.create', title: 'T', [field]: 5 }],
    })
    expect(batch.message).toBe(
      `operations[0]: ${field} must be the id of a task, or the \`#name\` of an earlier operation`,
    )
  }
})
