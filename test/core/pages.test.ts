import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readTaskFilter } from '../../modules/tasks/list-query.ts'
import { newId } from '../../src/ids.ts'
import {
  cut,
  idPage,
  isIdPart,
  nextLink,
  pageOf,
  readCursor,
  readLimit,
  writeCursor,
} from '../../src/reads/pages.ts'
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

  const foreign = {
    id,
    none: null,
    text: '"',
    empty: [],
    number: [7],
    object: [{}],
    nested: [[id]],
    two: [id, id],
  }
  for (const [name, value] of Object.entries({ ...foreign, 'not an id': ['x'], upper: [id.toUpperCase()] })) {
    test(`of another making is refused: ${name}`, () => {
      expect(() => readCursor(encoded(value), [isIdPart])).toThrow(notOurs)
    })
  }

  test('that is garbage is refused, whatever it is', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (garbage) => {
      expect(() => readCursor(garbage, [isIdPart])).toThrow(notOurs)
    })
    fc.assert(property, { numRuns: cases(250) })
    for (const text of ['', '====', '%00', 'null', id])
      expect(() => readCursor(text, [isIdPart])).toThrow(notOurs)
  })

  test('of a list in another order is refused', () => {
    const byId = writeCursor([id])
    const byDue = [writeCursor([null, id]), writeCursor(['2030-01-01T00:00:00.000Z', id])]
    for (const cursor of byDue) {
      expect(readTaskFilter({ sort: 'dueDate', cursor }, { userId: id }).after).toEqual(
        JSON.parse(atob(cursor)),
      )
      expect(() => readTaskFilter({ sort: 'createdAt', cursor }, { userId: id })).toThrow(notOurs)
    }
    expect(readTaskFilter({ cursor: byId }, { userId: id }).after).toEqual([id])
    expect(() => readTaskFilter({ sort: '-dueDate', cursor: byId }, { userId: id })).toThrow(notOurs)
    expect(() => readTaskFilter({ sort: 'dueDate', cursor: encoded(['soon', id]) }, { userId: id })).toThrow(
      notOurs,
    )
  })
})

describe('a limit', () => {
  test('is a whole number within the bounds', () => {
    expect([readLimit(undefined, 50, 200), readLimit('1', 50, 200), readLimit('200', 50, 200)]).toEqual([
      50, 1, 200,
    ])
  })

  for (const text of ['', '0', '201', '-1', '1.5', '1e2', 'ten', ' 5', '0x5', '9999999999', 'NaN', '٥']) {
    test(`is not ${JSON.stringify(text)}`, () => {
      expect(() => readLimit(text, 50, 200)).toThrow('limit must be a whole number from 1 to 200')
    })
  }
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

  const rows = Array.from({ length: 4 }, (_, i) => ({ id: `row-${i}` }))
  const ask = (count: number, limit: number) => {
    const request = new Request('http://localhost/rows')
    const { body, link } = pageOf(
      request,
      cut(rows.slice(0, count), limit),
      (row) => row,
      ({ id }) => [id],
    )
    return { shown: JSON.parse(body).length, link }
  }

  test('is given when there is a row more than shown, after the last one shown', () => {
    expect(ask(4, 3)).toEqual({
      shown: 3,
      link: nextLink('http://localhost/rows', 'cursor', writeCursor(['row-2'])),
    })
  })

  test('ends with the last row', () => {
    expect([ask(3, 3), ask(1, 3), ask(0, 3)]).toEqual([3, 1, 0].map((shown) => ({ shown, link: null })))
  })
})
