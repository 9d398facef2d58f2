import { expect, test } from 'bun:test'
import { importsOf, product, read, runtimeImportsOf, type Source, sourcesIn } from './source.ts'

/** Who puts the layers together, and so may name them all. */
const composition = ['src/app.ts', 'src/main.ts']

// Each place with what it may import from, itself included. The most exact place counts.
const allowed: Record<string, string[]> = {
  drizzle: ['drizzle'],
  'src/core': ['src/core', 'drizzle'],
  'src/actor': ['src/actor', 'src/core', 'drizzle'],
  'src/commands': ['src/commands', 'src/actor', 'src/core', 'drizzle'],
  'src/http': [
    'src/http',
    'src/commands',
    'src/actor',
    'src/core',
    'src/services.ts',
    'drizzle',
    'package.json',
  ],
  'src/local': ['src/local'],
  'src/process': ['src/process', 'src/core', 'src/services.ts', 'drizzle'],
  'src/services.ts': ['src/http', 'src/commands', 'src/actor', 'src/core'],
  modules: ['modules', 'src/http', 'src/commands', 'src/actor', 'src/core', 'src/services.ts', 'drizzle'],
  workers: ['workers', 'modules', 'src/commands', 'src/actor', 'src/core', 'src/services.ts', 'drizzle'],
}

const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`)
const placeOf = (path: string) =>
  Object.keys(allowed)
    .filter((place) => isIn(path, place))
    .sort((a, b) => b.length - a.length)[0]

test('every file has a place', () => {
  const homeless = product().filter(({ path }) => !composition.includes(path) && !placeOf(path))
  expect(homeless.map(({ path }) => path)).toEqual([])
})

test('imports point one way: drizzle, src, modules, workers', () => {
  const astray = product()
    .filter(({ path }) => !composition.includes(path))
    .flatMap((source) => {
      const own = importsOf(source).filter(({ isPackage }) => !isPackage)
      const wrong = own.filter(
        ({ name }) => !allowed[placeOf(source.path) ?? '']?.some((to) => isIn(name, to)),
      )
      return wrong.map(({ name }) => `${source.path} imports ${name}`)
    })
  expect(astray).toEqual([])
})

test('nothing that serves requests imports a test or a benchmark', () => {
  const astray = product().flatMap((source) =>
    importsOf(source).filter(({ name }) => /^(test|bench)\//.test(name)),
  )
  expect(astray).toEqual([])
})

test('in modules only routes know Elysia', () => {
  const users = sourcesIn('modules').filter((source) => namesPackage(source, /^@?elysia/))
  const others = users.filter(({ path }) => !path.endsWith('/routes.ts'))
  expect(others.map(({ path }) => path)).toEqual([])
  expect(users.length).toBeGreaterThan(0)
})

test('rules are pure: what they load, and what that loads, is no package but for schemas, and not the outside world', () => {
  const rules = sourcesIn('modules').filter(
    ({ path }) => path.endsWith('/commands.ts') && path !== 'modules/commands.ts',
  )
  expect(rules.length).toBeGreaterThan(4)
  const loaded = closureOf(rules)
  const impure = loaded.flatMap((source) => {
    const packages = runtimeImportsOf(source).filter(
      ({ isPackage, name }) => isPackage && name !== '@sinclair/typebox',
    )
    const world = source.text.match(
      /\b(Date\.now|new Date\(\)|fetch\(|crypto\b|Math\.random|process\b|performance\b)/g,
    )
    return [...packages.map(({ name }) => name), ...(world ?? [])].map((what) => `${source.path}: ${what}`)
  })
  expect(impure).toEqual([])
})

test('rules name no package either, not even for a type', () => {
  const rules = sourcesIn('modules').filter(
    ({ path }) => path.endsWith('/commands.ts') && path !== 'modules/commands.ts',
  )
  expect(rules.filter((rule) => namesPackage(rule, /./)).map(({ path }) => path)).toEqual([])
})

test('what is not Bun stays portable: no Bun global, no bun: import', () => {
  const bound = product().filter(({ path }) => path !== 'src/main.ts' && !isIn(path, 'src/local'))
  const users = bound.filter(
    (source) => /\bBun\s*[.[]/.test(source.text) || namesPackage(source, /^bun(:|$)/),
  )
  expect(users.map(({ path }) => path)).toEqual([])
})

test('only the process entry and the local servers read the environment', () => {
  const bound = product().filter(({ path }) => path !== 'src/main.ts' && !isIn(path, 'src/local'))
  expect(bound.filter(({ text }) => /\bprocess\.env\b/.test(text)).map(({ path }) => path)).toEqual([])
})

const namesPackage = (source: Source, pattern: RegExp) =>
  importsOf(source).some(({ name, isPackage }) => isPackage && pattern.test(name))

/** These files and all they load, directly or not. */
function closureOf(sources: Source[]): Source[] {
  const known = new Map(sources.map((source) => [source.path, source]))
  for (const source of known.values()) {
    for (const { name, isPackage } of runtimeImportsOf(source)) {
      if (!isPackage && !known.has(name)) known.set(name, read(name))
    }
  }
  return [...known.values()]
}
