import { expect, test } from 'bun:test'
import { readConfig, settingNames } from '../../src/config.ts'
import { read } from './source.ts'

const settings = () => settingNames().sort()

test('every setting has its row in the page about configuration', () => {
  const rows = read('docs/configuration.md')
    .text.split('\n')
    .filter((line) => line.startsWith('| `'))
  const told = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!),
  )
  expect(told.sort()).toEqual(settings())
})

test('every setting stands in .env.example, with nothing set', () => {
  const lines = read('.env.example')
    .text.split('\n')
    .filter((line) => line && !line.startsWith('# '))
  expect(lines.map((line) => line.replace(/^#([A-Z_]+)=.*$/, '$1')).sort()).toEqual(settings())
})

test('what .env.example shows is the default, but for addresses', () => {
  const shown = [...read('.env.example').text.matchAll(/^#([A-Z_]+)=(.+)$/gm)]
  const own = ['NODE_ENV', 'DATABASE_URL', 'REDIS_URL']
  for (const [, name, value] of shown.filter(([, one]) => !own.includes(one!)))
    expect([name, readConfig({ [name!]: value })]).toEqual([name, readConfig({})])
})

test('a setting that was renamed is read under its old name too, and under the new one first', () => {
  expect(readConfig({ WRITE_HOMES: '3' }).writeShards).toBe(3)
  expect(readConfig({ WRITE_HOMES: '3', WRITE_SHARDS: '4' }).writeShards).toBe(4)
})

test('what is wrong with a setting is told under the name that it was given by', () => {
  expect(() => readConfig({ WRITE_HOMES: '65' })).toThrow('WRITE_HOMES must be a whole number')
  expect(() => readConfig({ WRITE_HOMES: '1', WRITE_SHARDS: '65' })).toThrow('WRITE_SHARDS must be')
})
