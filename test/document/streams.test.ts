import { expect, test } from 'bun:test'
import { differences, operationsOf, referred } from '../support/schema-check.ts'
import { openDocument } from './open-document.ts'

const api = JSON.parse(await openDocument())

test('what a reader had last is a parameter where a stream goes on after it', () => {
  const taking = [...operationsOf(api)].flatMap(([name, { parameters }]) => {
    const all = parameters.filter((one) => one.name === 'Last-Event-ID')
    return all.map((one) => [name, one.in, one.required, one.schema] as const)
  })
  const schema = { type: 'integer', minimum: 0 }
  expect(taking).toMatchObject([['get /api/v1/projects/{id}/events', 'header', false, schema]])
})

test('what comes as server-sent events is documented as that, with an example that reads as such', () => {
  const streams = [...operationsOf(api)].flatMap(([name, { responses }]) => {
    const content = responses['200']?.content?.['text/event-stream']
    return content ? [[name, content] as const] : []
  })
  expect(streams.map(([name]) => name)).toEqual(['get /api/v1/projects/{id}/events', 'get /api/v1/events'])
  for (const [name, { schema, example }] of streams) {
    expect([name, referred(api, schema.$ref!).type]).toEqual([name, 'string'])
    const messages = String(example).split('\n\n').slice(0, -1)
    expect([name, messages[0]]).toEqual([name, expect.stringMatching(/^retry: \d+/)])
    for (const message of messages.slice(1)) {
      const data = JSON.parse(/^data: (.*)$/m.exec(message)![1]!)
      if (message.startsWith('id: '))
        expect(differences(api, { $ref: '#/components/schemas/Event' }, data)).toEqual([])
      else expect(Object.keys(data)).toEqual(['projectId', 'version'])
    }
  }
})
