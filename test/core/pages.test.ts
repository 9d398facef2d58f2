import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../src/ids.ts'
import { idPage, isIdPart, nextLink, readCursor, writeCursor } from '../../src/reads/pages.ts'
import { cases } from '../support/depth.ts'

const notOurs = 'cursor must be one that this list gave in its Link header'
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a cursor', () => {
  const id = newId()

  test('leads back to the key it was made of', () => {
    expect(readCursor(writeCursor([id]), [isIdPart])).toEqual([id])
    expect(idPage({ cursor: writeCursor([id]), limit: '7' }, 50, 200)).toEqual({ cursor: id, limit: 7 })
    expect(idPage({}, 50, 200)).toEqual({ cursor: null, limit: 50 })
  })

  test('that is garbage is refused, whatever it is', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (garbage) => {
      expect(() => readCursor(garbage, [isIdPart])).toThrow(notOurs)
    })
    fc.assert(property, { numRuns: cases(250) })
    for (const text of [
      '',
      '====',
      '%00',
      'null',
      id,
      ...[[id, id], [[id]], [id.toUpperCase()]].map(encoded),
    ])
      expect(() => readCursor(text, [isIdPart])).toThrow(notOurs)
  })
})

describe('the way to the next page', () => {
  test('is the same request with the cursor set', () => {
    const link = nextLink(
      'http://localhost:3000/api/v1/tasks?status=DONE&cursor=old&limit=5',
      'cursor',
      'new',
    )
    expect(link).toBe('</api/v1/tasks?status=DONE&cursor=new&limit=5>; rel="next"')
    expect(nextLink('https://example.com/api/v1/projects', 'cursor', 'c')).toBe(
      '</api/v1/projects?cursor=c>; rel="next"',
    )
  })

  test('cannot be broken out of by what the request says', () => {
    const link = nextLink('http://localhost/tasks?assigneeId=%3E%3B%20rel%3D%22prev%22', 'cursor', 'c')
    expect(link.match(/[<>]/g)).toEqual(['<', '>'])
    expect(link.match(/rel="/g)).toHaveLength(1)
  })
})
