import { expect, test } from 'bun:test'
import { Lanes } from '../../workers/webhooks/lanes.ts'

const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => `hook-${from + n}`)
const waitAll = (lanes: Lanes, all: string[]) => all.forEach((id) => lanes.wait(id))

test('a webhook that was slow or failed takes no place of those that answer, until it is good again', () => {
  const lanes = new Lanes(1)
  const [bad, good] = ['bad', 'good']
  lanes.judge(bad, false)
  waitAll(lanes, [bad, good])
  expect(lanes.next().sort()).toEqual([bad, good])
  for (const id of [bad, good]) lanes.leave(id)
  lanes.judge(bad, true)
  waitAll(lanes, [bad, good])
  expect(lanes.next()).toEqual([bad])
  lanes.leave(bad)
  expect(lanes.next()).toEqual([good])
})

test('a delivery that takes long goes over to the slow ones while these have room', () => {
  const lanes = new Lanes(2)
  const all = ids(0, 13)
  waitAll(lanes, all)
  for (let round = 0; round < 5; round++) for (const id of lanes.next()) expect(lanes.goesOn(id)).toBeTrue()
  const last = lanes.next()
  expect(last).toEqual(ids(10, 2))
  for (const id of last) expect(lanes.goesOn(id)).toBeFalse()
  expect(lanes.goesOn(all[0]!)).toBeTrue() // is there already
  lanes.leave(last[0]!)
  expect(lanes.next()).toEqual(ids(12, 1))
})
