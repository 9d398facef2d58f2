import { expect, test } from 'bun:test'
import { FieldKeys } from '../../../modules/imports/convert/field-keys.ts'
import { upTo } from '../../races/pair.ts'

test('gives 40,000 fields with the same name different keys', () => {
  const keys = new FieldKeys()
  expect(keys.keyFor('size_3')).toBe('size_3')
  const given = upTo(40_000).map((n) => keys.keyFor('Size', `id ${n}`))
  expect(given.slice(0, 3)).toEqual(['size', 'size_2', 'size_4'])
  expect(new Set(given).size).toBe(40_000)
  expect(keys.keyFor('Size', 'id 1')).toBe(given[0]!)
})
