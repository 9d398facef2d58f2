import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { sharesOf } from '../../modules/feeds/read-many.ts'

const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)

test('a share that a project does not use goes to projects with more events', () => {
  expect(sharesOf([200, 2, 0, 10], 50)).toEqual([38, 2, 0, 10])
  expect(sharesOf([100, 100, 100], 50)).toEqual([17, 17, 16])
  expect(sharesOf([5, 5, 5], 2)).toEqual([1, 1, 1])
  expect(sharesOf([], 10)).toEqual([])
})

test('each project with events gets at least one and at most its own number, and the limit is used up', () => {
  const property = fc.property(
    fc.array(fc.nat(300), { maxLength: 50 }),
    fc.integer({ min: 1, max: 500 }),
    (waiting, limit) => {
      const shares = sharesOf(waiting, limit)
      const many = waiting.filter((one) => one > 0).length
      expect(sum(shares)).toBe(Math.max(many, Math.min(limit, sum(waiting))))
      shares.forEach((share, n) => {
        expect(share).toBeLessThanOrEqual(waiting[n]!)
        if (waiting[n]! > 0) expect(share).toBeGreaterThan(0)
        // A project with events left over gets no less than any other project, except by one event.
        if (share < waiting[n]!) expect(share).toBeGreaterThanOrEqual(Math.max(...shares) - 1)
      })
    },
  )
  fc.assert(property)
})
