import { expect, test } from 'bun:test'
import { type OpenApi, operationsOf } from '../support/schema-check.ts'
import { openTestService } from '../support/service.ts'

const said = /(oldest|newest) first|in (that )?order/i

test('every list says in which order it is, that of tasks also where due dates filter it', async () => {
  await using service = await openTestService()
  const operations = operationsOf((await service.client.get('/../docs/json')).body as unknown as OpenApi)
  const lists = [...operations].filter(
    ([, { responses }]) => responses[200]?.content?.['application/json']?.schema.type === 'array',
  )
  expect(lists.length).toBeGreaterThan(10)
  for (const [name, { description }] of lists)
    expect([name, description]).toEqual([name, expect.stringMatching(said)])
  const { description } = operations.get('get /api/v1/tasks')!
  expect(description).toMatch(/filtered by due date in order of that/)
  expect(description).toMatch(/neither .* is inside/i)
})
