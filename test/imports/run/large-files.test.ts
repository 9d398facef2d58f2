import { expect, test } from 'bun:test'
import { openLargeFiles } from '../../../workers/imports/file.ts'
import { SliceEnded } from '../../../workers/throttle.ts'

const large = 9_000_000

function openFiles() {
  let nowMs = 0
  const { begin } = openLargeFiles(() => nowMs)
  const readings = new Map<string, ReturnType<typeof begin>>()
  const isAdmitted = (id: string, bytes = 0) => {
    const reading = readings.get(id) ?? begin(id)
    readings.set(id, reading)
    try {
      reading.admit(bytes)
      return true
    } catch (error) {
      if (!(error instanceof SliceEnded)) throw error
      reading.end()
      readings.delete(id)
      return false
    }
  }
  const end = (id: string) => {
    const reading = readings.get(id)!
    reading.end()
    readings.delete(id)
    return reading
  }
  return { isAdmitted, end, pass: (ms: number) => void (nowMs += ms) }
}

test('reads large files in the order of their imports, whichever import retries first', () => {
  const { isAdmitted, end } = openFiles()
  expect(['a', 'b', 'c'].map((id) => isAdmitted(id, large))).toEqual([true, false, false])
  end('a')
  expect(isAdmitted('c')).toBe(false)
  expect(isAdmitted('a', large)).toBe(false)
  expect(isAdmitted('b')).toBe(true)
  end('b')
  expect(isAdmitted('a')).toBe(false)
  expect(isAdmitted('c')).toBe(true)
})

test('an import that no longer retries does not block other imports', () => {
  const { isAdmitted, end, pass } = openFiles()
  for (const id of ['a', 'b', 'c']) isAdmitted(id, large)
  pass(9_000)
  expect(isAdmitted('c')).toBe(false)
  end('a')
  expect(isAdmitted('c')).toBe(false)
  pass(1_000)
  expect(isAdmitted('c')).toBe(true)
})

test('a parser that reads after the end of its import does not block other imports', () => {
  const { isAdmitted, end } = openFiles()
  isAdmitted('a', large)
  const reading = end('a')
  expect(() => reading.admit(large)).toThrow(SliceEnded)
  expect(isAdmitted('b', large)).toBe(true)
})
