import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Debt } from '../../src/postgres/debt.ts'

const message = (type: string, body = '') => {
  const head = Buffer.from(`${type}\0\0\0\0`, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body, 'latin1')])
}
const greeting = Buffer.from('\0\0\0\x14\0\x03\0\0user\0ada\0\0\0', 'latin1')
const welcome = Buffer.concat([message('R', '\0\0\0\0'), message('S', 'Z\0\0\0\x05I'), message('Z', 'I')])
const asked = Buffer.concat([message('B', 'S\0\0\0\x04'), message('E', '\0'), message('S')])
const answered = Buffer.concat([message('2'), message('D', 'Z\0\0\0\x05I'), message('C'), message('Z', 'I')])

const open = () => {
  const debt = new Debt()
  debt.wrote(greeting)
  expect(debt.isOwed).toBe(true)
  debt.heard(welcome)
  expect(debt.isOwed).toBe(false)
  return debt
}

test('as many answers are owed as were asked for, however they are cut into chunks', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.integer({ min: 1, max: 40 })), (count, cuts) => {
      const debt = open()
      debt.wrote(Buffer.concat(Array(count).fill(asked)))
      const all = Buffer.concat(Array(count).fill(answered))
      let at = 0
      for (const cut of [...cuts, all.length]) {
        debt.heard(all.subarray(at, at + cut))
        at = Math.min(at + cut, all.length)
        expect(debt.isOwed).toBe(at < all.length)
      }
    }),
  )
})

test('a description is owed from a Flush on, after the answers before it', () => {
  const debt = open()
  debt.wrote(Buffer.concat([asked, message('P', '\0select\0'), message('D', 'S\0'), message('H')]))
  debt.heard(answered)
  expect(debt.isOwed).toBe(true)
  debt.heard(Buffer.concat([message('1'), message('t', '\0\0')]))
  expect(debt.isOwed).toBe(true)
  debt.heard(message('T', '\0\0'))
  expect(debt.isOwed).toBe(false)
})

test('an error in place of a description is owed its end', () => {
  const debt = open()
  debt.wrote(message('H'))
  debt.heard(message('E', 'Mno\0'))
  debt.wrote(message('S'))
  expect(debt.isOwed).toBe(true)
  debt.heard(message('Z', 'I'))
  expect(debt.isOwed).toBe(false)
})
