import { expect, test } from 'bun:test'
import { importsOf, product, read, runtimeImportsOf, type Source, sourcesIn } from './source.ts'
import { words } from '../support/words.ts'

/** Who puts the layers together, and so may name them all. */
const composition = ['src/app.ts', 'src/main.ts']

// From the ground up: each place imports from itself and from those before it.
const places = [
  ...words(`
    drizzle package.json src/hosts.ts src/setting-values.ts src/config.ts src/ids.ts src/log.ts
    src/within.ts src/repeatedly.ts src/throttle.ts src/metrics src/tracing`),
  ...words(`
    src/responses src/schema src/redis src/postgres src/jobs src/identity src/admission src/outbound
    src/reads src/subscriptions`),
  ...words(`
    src/model src/log src/commit src/lock src/routing src/actor src/commands src/batch src/openapi
    src/http src/services.ts src/module.ts`),
  ...['src/local', 'src/process', 'modules', 'workers'],
]

const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`)
const placeOf = (path: string) => places.find((place) => isIn(path, place))

test('every file has a place', () => {
  const homeless = product().filter(({ path }) => !composition.includes(path) && !placeOf(path))
  expect(homeless.map(({ path }) => path)).toEqual([])
})

test('imports point one way: drizzle, src, modules, workers, and one way between the rooms of each', () => {
  const isBelow = (name: string, path: string) =>
    places.slice(0, places.indexOf(placeOf(path) ?? '') + 1).some((place) => isIn(name, place))
  const astray = product()
    .filter(({ path }) => !composition.includes(path))
    .flatMap((source) => {
      const own = importsOf(source).filter(({ isPackage }) => !isPackage)
      return own
        .filter(({ name }) => !isBelow(name, source.path))
        .map(({ name }) => `${source.path} imports ${name}`)
    })
  expect(astray).toEqual([])
})

test('no two modules import each other, and the own servers know nobody', () => {
  const moduleOf = (path: string) => /^modules\/[a-z-]+(?=\/)/.exec(path)?.[0]
  const pairs = sourcesIn('modules').flatMap((source) =>
    importsOf(source).map(({ name }) => [moduleOf(source.path), moduleOf(name)].join(' ')),
  )
  const both = pairs.filter((pair) => {
    const [one, other] = pair.split(' ')
    return one && other && one !== other && pairs.includes(`${other} ${one}`)
  })
  expect(both).toEqual([])
  const local = sourcesIn('src/local').flatMap((source) => importsOf(source))
  expect(local.filter(({ name, isPackage }) => !isPackage && !isIn(name, 'src/local'))).toEqual([])
})

test('no file imports itself through others, not even for a type', () => {
  const sources = product()
  const paths = new Set(sources.map(({ path }) => path))
  const imports = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source).flatMap(({ name }) => (paths.has(name) ? name : [])),
    ]),
  )
  const reaches = (from: string, goal: string, seen = new Set<string>()): boolean =>
    imports.get(from)!.some((name) => {
      if (name === goal) return true
      if (seen.has(name)) return false
      seen.add(name)
      return reaches(name, goal, seen)
    })
  expect([...paths].filter((path) => reaches(path, path))).toEqual([])
})

const mostFiles = 16

test(`a room holds at most ${mostFiles} files`, () => {
  const rooms = Map.groupBy(product(), ({ path }) => path.slice(0, path.lastIndexOf('/')))
  const full = [...rooms].filter(([, files]) => files.length > mostFiles)
  expect(full.map(([room, { length }]) => `${room} ${length}`)).toEqual([])
})

test('nothing that serves requests imports a test or a benchmark', () => {
  const astray = product().flatMap((source) =>
    importsOf(source).filter(({ name }) => /^(test|bench)\//.test(name)),
  )
  expect(astray).toEqual([])
})

test('in modules only routes know Elysia', () => {
  const users = sourcesIn('modules').filter((source) => namesPackage(source, /^@?elysia/))
  const others = users.filter(({ path }) => !/routes\.ts$/.test(path))
  expect(others.map(({ path }) => path)).toEqual([])
  expect(users.length).toBeGreaterThan(0)
})

/** Schemas, a comparison by value, and the description of tables. */
const pure = ['@sinclair/typebox', 'node:util', 'drizzle-orm', 'drizzle-orm/pg-core']

test('rules are pure: what they load, and what that loads, is no package but for schemas, and not the outside world', () => {
  const rules = sourcesIn('modules').filter(
    ({ path }) => path.endsWith('/commands.ts') && path !== 'modules/commands.ts',
  )
  expect(rules.length).toBeGreaterThan(4)
  const loaded = closureOf(rules)
  const impure = loaded.flatMap((source) => {
    const packages = runtimeImportsOf(source).filter(
      ({ isPackage, name }) => isPackage && !pure.includes(name),
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

/** Names the event types, and loads all modules for that. */
const listOfModules = 'modules/modules.ts'

/** These files and all they load, directly or not. */
function closureOf(sources: Source[]): Source[] {
  const known = new Map(sources.map((source) => [source.path, source]))
  for (const source of known.values()) {
    for (const { name, isPackage } of runtimeImportsOf(source)) {
      if (!isPackage && name !== listOfModules && !known.has(name)) known.set(name, read(name))
    }
  }
  return [...known.values()]
}
