import { expect, test } from 'bun:test'
import { readConfig, settingNames } from '../../src/config.ts'
import { read } from './source.ts'

const settings = () => settingNames().sort()

test('docs/configuration.md has a row for every setting', () => {
  const rows = read('docs/configuration.md')
    .text.split('\n')
    .filter((line) => line.startsWith('| `'))
  const names = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!),
  )
  expect(names.sort()).toEqual(settings())
})

test('.env.example lists every setting, commented out', () => {
  const lines = read('.env.example')
    .text.split('\n')
    .filter((line) => line && !line.startsWith('# '))
  expect(lines.map((line) => line.replace(/^#([A-Z_]+)=.*$/, '$1')).sort()).toEqual(settings())
})

test('.env.example shows the default of every setting, except for addresses', () => {
  const shown = [...read('.env.example').text.matchAll(/^#([A-Z_]+)=(.+)$/gm)]
  const exempt = ['NODE_ENV', 'DATABASE_URL', 'REDIS_URL']
  for (const [, name, value] of shown.filter(([, one]) => !exempt.includes(one!)))
    expect([name, readConfig({ [name!]: value })]).toEqual([name, readConfig({})])
})

test('a renamed setting is also read under its old name; the new name wins', () => {
  expect(readConfig({ WRITE_HOMES: '3' }).writeShards).toBe(3)
  expect(readConfig({ WRITE_HOMES: '3', WRITE_SHARDS: '4' }).writeShards).toBe(4)
})

test('an error about a renamed setting names the variable that was set', () => {
  expect(() => readConfig({ WRITE_HOMES: '65' })).toThrow('WRITE_HOMES must be a whole number')
  expect(() => readConfig({ WRITE_HOMES: '1', WRITE_SHARDS: '65' })).toThrow('WRITE_SHARDS must be')
})
