import { expect, test } from 'bun:test'
import { readTraceparent, writeTraceparent } from '../../src/tracing/traceparent.ts'

const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

test('reads and writes a traceparent in the format of W3C Trace Context', () => {
  for (const [flags, traceFlags] of [
    ['00', 0],
    ['01', 1],
    ['03', 1],
  ] as const) {
    const read = readTraceparent(`00-${trace}-${span}-${flags}`)
    expect(read).toEqual({ traceId: trace, spanId: span, traceFlags })
    expect(writeTraceparent(read!)).toBe(`00-${trace}-${span}-0${traceFlags}`)
  }
  expect(readTraceparent(`cc-${trace}-${span}-01-what-comes-later`)).toMatchObject({ traceId: trace })
})

test.each([
  null,
  '',
  'none',
  `00-${trace}-${span}`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace}-${span}-01-more`,
  `ff-${trace}-${span}-01`,
  `00-${trace}-${span}-01\n{"level":50}`,
])('ignores the invalid traceparent %p', (header) => {
  expect(readTraceparent(header)).toBe(undefined)
})
