import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { documentedSettings, readConfig, settingNames } from '../../src/config.ts'
import { read, root } from './source.ts'

const maxDocumented = 44
const documented = documentedSettings().sort()
const undocumented = settingNames().filter((name) => !documented.includes(name))

test(`at most ${maxDocumented} settings are documented`, () => {
  expect(documented.length).toBeLessThanOrEqual(maxDocumented)
  expect(new Set(settingNames()).size).toBe(settingNames().length)
})

test('docs/configuration.md has a row for every documented setting', () => {
  const rows = read('docs/configuration.md')
    .text.split('\n')
    .filter((line) => line.startsWith('| `'))
  const names = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name!),
  )
  expect(names.sort()).toEqual(documented)
})

test('no page and no file for operators names an undocumented setting', () => {
  const pages = ['docs', 'ops'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  )
  const found = [...pages, 'README.md', 'docker-compose.yml'].flatMap((path) => {
    const words = new Set(read(path).text.match(/\b[A-Z]+(_[A-Z]+)*\b/g))
    return undocumented.filter((name) => words.has(name)).map((name) => `${path}: ${name}`)
  })
  expect(found).toEqual([])
})

test('.env.example lists every documented setting, commented out', () => {
  const lines = read('.env.example')
    .text.split('\n')
    .filter((line) => line && !line.startsWith('# '))
  expect(lines.map((line) => line.replace(/^#([A-Z_]+)=.*$/, '$1')).sort()).toEqual(documented)
})

test('.env.example shows the default of every setting, except for addresses', () => {
  const shown = [...read('.env.example').text.matchAll(/^#([A-Z_]+)=(.+)$/gm)]
  const exempt = ['NODE_ENV', 'DATABASE_URL', 'DATABASE_STANDBY_URLS', 'REDIS_URL']
  for (const [, name, value] of shown.filter(([, one]) => !exempt.includes(one!)))
    expect([name, readConfig({ [name!]: value })]).toEqual([name, readConfig({})])
})
