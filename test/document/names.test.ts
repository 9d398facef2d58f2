import { type OpenApi, operationsOf, resolveSchema, schemaErrors, words } from '../kit.ts'
import { openDocument } from './open-document.ts'

const api: OpenApi & { info: { description: string } } = JSON.parse(await openDocument())

test('operation ids are a verb and a noun', () => {
  const ids = [...operationsOf(api).values()].map(({ operationId }) => operationId)
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)*$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('bodies and responses refer to named schemas', () => {
  for (const [name, { responses, requestBody }] of operationsOf(api)) {
    const shown = [requestBody, ...Object.values(responses)].flatMap((one) =>
      Object.values(one?.content ?? {}),
    )
    for (const { schema } of shown)
      expect([name, schema.$ref ?? schema.items?.$ref]).toEqual([name, expect.stringContaining('/schemas/')])
  }
})

test('the description of an enumeration lists its values, as the error message does', () => {
  const enumerations = Object.entries(api.components.schemas).filter(([, one]) => one.enum)
  expect(enumerations.map(([name]) => name)).toContain('DryRun')
  for (const [name, one] of enumerations)
    expect([name, one]).toEqual([
      name,
      expect.objectContaining({ description: expect.stringContaining(`One of ${one.enum!.join(', ')}`) }),
    ])
})

test('every limit parameter is an integer with bounds and a default', () => {
  const limits = [...operationsOf(api)].flatMap(([name, { parameters }]) =>
    parameters.filter((one) => one.name === 'limit').map(({ schema }) => [name, schema] as const),
  )
  expect(limits).toHaveLength(18)
  for (const [name, schema] of limits) {
    const own: Record<string, number[]> = { projects: [1_000, 1_000], events: [500, 100] }
    const [maximum, fallback] = own[name.split('/').at(-1)!] ?? [200, 50]
    const expected = { type: 'integer', minimum: 1, maximum, default: fallback }
    expect([name, schema]).toEqual([name, expected])
  }
})

test('every path parameter is the id of a resource, except an external id', () => {
  for (const { parameters } of operationsOf(api).values())
    for (const { name, in: place, description, schema } of parameters) {
      if (place !== 'path') continue
      const isExternal = name === 'externalId'
      expect(description).toMatch(isExternal ? /^The externalId, / : /^The id of an? \w+$/)
      expect([name, schema.format]).toEqual([name, isExternal ? undefined : 'uuid'])
    }
})

test('the introduction has at most 25 lines, links to the guides, and contains the settings of this service', () => {
  const { description } = api.info
  expect(description.trim().split('\n').length).toBeLessThanOrEqual(25)
  expect(description).toContain('(/api/docs/guides/feed)')
  expect(description).not.toMatch(/\{\w+\}/)
  expect(description).toContain('is valid for 7 days')
})

test('the groups are in the order of use', () => {
  expect(api.tags.map(({ name }) => name)).toEqual(
    words(`Authentication Projects Tasks Subtasks Comments Labels Fields Views Members Search Imports Exports Events History Webhooks Tokens
      ServiceAccounts Agents Health`),
  )
})

test('the document contains a valid example of every event type', () => {
  const { content } = operationsOf(api).get('get /api/v1/projects/{id}/events')!.responses['200']!
  const { schema, examples } = content!['application/json']! as {
    schema: object
    examples: Record<string, { value: object[] }>
  }
  expect(Object.keys(examples)).toEqual(api.components.schemas.EventType!.enum as string[])
  for (const [type, { value }] of Object.entries(examples)) {
    expect([type, schemaErrors(api, schema, value)]).toEqual([type, []])
    const [event] = value as { before: object | null; after: object | null }[]
    if (type === 'task.ready') expect(event).toMatchObject({ before: {}, after: {} })
    else expect([type, event!.before]).not.toEqual([type, event!.after])
  }
})

test('only the event stream of a project has the parameter Last-Event-ID', () => {
  const accepting = [...operationsOf(api)].flatMap(([name, { parameters }]) => {
    const all = parameters.filter((one) => one.name === 'Last-Event-ID')
    return all.map((one) => [name, one.in, one.required, one.schema] as const)
  })
  const schema = { type: 'integer', minimum: 0 }
  expect(accepting).toMatchObject([['get /api/v1/projects/{id}/events', 'header', false, schema]])
})

test('streams are documented as server-sent events, with valid messages as the example', () => {
  const streams = [...operationsOf(api)].flatMap(([name, { responses }]) => {
    const content = responses['200']?.content?.['text/event-stream']
    return content ? [[name, content] as const] : []
  })
  expect(streams.map(([name]) => name)).toEqual(['get /api/v1/projects/{id}/events', 'get /api/v1/events'])
  for (const [name, { schema, example }] of streams) {
    expect([name, resolveSchema(api, schema.$ref!).type]).toEqual([name, 'string'])
    const messages = String(example).split('\n\n').slice(0, -1)
    expect([name, messages[0]]).toEqual([name, expect.stringMatching(/^retry: \d+/)])
    for (const message of messages.slice(1)) {
      const data = JSON.parse(/^data: (.*)$/m.exec(message)![1]!)
      if (message.startsWith('id: '))
        expect(schemaErrors(api, { $ref: '#/components/schemas/Event' }, data)).toEqual([])
      else expect(Object.keys(data)).toEqual(['projectId', 'version'])
    }
  }
})

const statesOrder = /(oldest|newest) first|in (the )?order/i

test("every list's description states how the list is sorted, also with a due date filter", () => {
  const operations = operationsOf(api)
  const lists = [...operations].filter(
    ([, { responses }]) => responses[200]?.content?.['application/json']?.schema.type === 'array',
  )
  expect(lists.length).toBeGreaterThan(10)
  for (const [name, { description }] of lists)
    expect([name, description]).toEqual([name, expect.stringMatching(statesOrder)])
  const { description } = operations.get('get /api/v1/tasks')!
  expect(description).toMatch(/with a filter by due date, earliest due date first/)
  expect(description).toMatch(/`dueBefore` and `dueAfter` are exclusive/)
})
