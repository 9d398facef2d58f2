import { expect, test } from 'bun:test'
import { register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { expectRefusal } from './answers.ts'

const service = await forFile(openTestService())
const ada = await register(service.client)

test('a body may have 50,000 keys and elements, counted before it is parsed', async () => {
  const textIsNotCounted = JSON.stringify(',[{'.repeat(50_000))
  // The object with its two keys, of which the list is one, and the elements.
  const sent = (parts: number, end: string) =>
    `{"text":${textIsNotCounted},"list":[${Array(parts - 2)
      .fill('0')
      .join()}]${end}`
  const { parse } = JSON
  let longParsed = 0
  JSON.parse = (text, ...more) => {
    if (text.length > 50_000) longParsed++
    return parse(text, ...more)
  }
  try {
    for (const end of ['}', '']) {
      const answer = await ada.post('/projects', sent(50_001, end))
      expectRefusal(answer, 400, 'The body must have at most 50000 keys and elements')
    }
    expect(longParsed).toBe(0)
  } finally {
    JSON.parse = parse
  }
  expectRefusal(await ada.post('/projects', sent(50_000, '}')), 400, /is not known here/)
})
