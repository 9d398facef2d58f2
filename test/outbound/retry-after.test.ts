import { retryAfter } from '../../src/outbound/post.ts'

test('parses Retry-After as seconds or as a date', () => {
  const now = Date.parse('2027-01-15T09:30:00Z')
  expect(retryAfter('120', now)).toBe(120_000)
  expect(retryAfter('Fri, 15 Jan 2027 09:31:00 GMT', now)).toBe(60_000)
  for (const none of [undefined, '', '0', '-5', 'soon', 'Fri, 15 Jan 2027 09:29:00 GMT', '9'.repeat(30)])
    expect(retryAfter(none, now)).toBeNull()
})
