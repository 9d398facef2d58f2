import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Assignment } from '../../src/routing/assignment.ts'
import { upTo } from '../races/pair.ts'

const ids = ['a', 'b', 'c', 'd', 'e']
const peers = new Map(ids.map((id) => [id, { id, host: 'there', port: 1 }]))
const shards = 6
const assigned = fc.array(fc.constantFrom(...ids, 'gone'), { maxLength: shards })
/** Those who can be used, one time after another. */
const usable = fc.array(fc.subarray(ids), { minLength: 1, maxLength: 6 })

function namesFrom(assignment: Assignment, me: string | undefined, usable: string[]): (string | undefined)[] {
  return upTo(shards).map((n) => {
    const home = assignment.homeOf(n - 1, (id) => usable.includes(id))
    return home === 'here' ? me : home?.id
  })
}

test('whatever could be used before, all who see the same now answer the same', () =>
  fc.assert(
    fc.property(assigned, usable, (assigned, times) => {
      const members = [...ids, undefined].map((me) => ({
        me,
        its: new Assignment(shards, { peers, assigned }, me),
      }))
      for (const now of times) {
        const fresh = namesFrom(new Assignment(shards, { peers, assigned }, undefined), undefined, now)
        expect(fresh.every((home) => (now.length ? now.includes(home!) : home === undefined))).toBe(true)
        for (const { me, its } of members) {
          const answer = namesFrom(its, me, now)
          if (me === undefined || now.includes(me)) expect(answer).toEqual(fresh)
        }
      }
    }),
  ))

test('who is lost to others is not to itself', () => {
  const assignment = new Assignment(2, { peers, assigned: ['a', 'b'] }, 'a')
  expect(namesFrom(assignment, 'a', []).slice(0, 2)).toEqual(['a', 'a'])
  expect(assignment.here()).toEqual([0])
})
