import fc from 'fast-check'
import { sharesOf } from '../../modules/events/read-many.ts'

const sum = (numbers: number[]) => numbers.reduce((all, one) => all + one, 0)

test('if a project has fewer events than its share of the page, projects with more events get the rest', () => {
  expect(sharesOf([200, 2, 0, 10], 50)).toEqual([38, 2, 0, 10])
  expect(sharesOf([100, 100, 100], 50)).toEqual([17, 17, 16])
  expect(sharesOf([5, 5, 5], 2)).toEqual([1, 1, 1])
  expect(sharesOf([], 10)).toEqual([])
})

test('each project with events gets at least one event and at most all of its events, and the page is full', () => {
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
        // If not all events of a project fit, its share is the largest share, or one less.
        if (share < waiting[n]!) expect(share).toBeGreaterThanOrEqual(Math.max(...shares) - 1)
      })
    },
  )
  fc.assert(property)
})
