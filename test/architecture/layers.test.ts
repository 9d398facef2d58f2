import { clients, codeOf, importsOf, product, read, runtimeImportsOf, sourcesIn } from './source.ts'
import type { Source } from './source.ts'
import { words } from '../support/words.ts'

/** Files that may import from every layer. */
const composition = ['src/app.ts', 'src/main.ts']

/** The layers from bottom to top. A layer may import from itself and from earlier layers in this list. */
const places = [
  ...words(`
    drizzle package.json src/hosts.ts src/setting-values.ts src/tls.ts src/proxies.ts src/config.ts src/id-format.ts
    src/ids.ts src/logger.ts src/waits.ts src/metrics src/tracing`),
  ...words(`
    src/responses src/schema src/redis src/postgres src/jobs src/admission src/identity src/outbound
    src/reads src/subscriptions`),
  ...words(`
    src/model src/log src/commit src/lock src/routing src/actor src/commands src/batch src/openapi
    src/http src/services.ts src/module.ts`),
  ...['src/local', 'src/process', 'modules', 'workers'],
]

const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`)
const placeOf = (path: string) => places.find((place) => isIn(path, place))

test('every product file belongs to a layer', () => {
  const others = product().filter(({ path }) => !composition.includes(path) && !placeOf(path))
  expect(others.map(({ path }) => path)).toEqual([])
})

test('each layer imports only from itself and lower layers', () => {
  const isBelow = (name: string, path: string) =>
    places.slice(0, places.indexOf(placeOf(path) ?? '') + 1).some((place) => isIn(name, place))
  const upward = product()
    .filter(({ path }) => !composition.includes(path))
    .flatMap((source) =>
      importsOf(source)
        .filter(({ name, isPackage }) => !isPackage && !isBelow(name, source.path))
        .map(({ name }) => `${source.path} imports ${name}`),
    )
  expect(upward).toEqual([])
})

test('no two modules import each other, and src/local imports nothing outside itself', () => {
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

test('imports form no cycles, type imports included', () => {
  const sources = [...product(), ...clients()]
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

test('product code imports no test or benchmark, and the service imports no client', () => {
  const upward = product().flatMap((source) =>
    importsOf(source).filter(({ name }) => /^(test|bench|clients)\//.test(name)),
  )
  const tests = clients().flatMap((source) =>
    importsOf(source).filter(({ name }) => /^(test|bench)\//.test(name)),
  )
  expect([...upward, ...tests]).toEqual([])
})

test('the client library uses only web standards and its own files', () => {
  const sources = clients().filter(({ path }) => isIn(path, 'clients/typescript/src'))
  expect(sources.length).toBeGreaterThan(5)
  const foreign = sources.flatMap((source) => [
    ...importsOf(source)
      .filter(({ name, isPackage }) =>
        isPackage ? name !== '@tanstack/db' : !isIn(name, 'clients/typescript/src'),
      )
      .map(({ name }) => `${source.path} imports ${name}`),
    ...(/\b(Bun|Deno|process|Buffer)\s*[.[]/.exec(codeOf(source)) ?? []).map(
      (one) => `${source.path}: ${one}`,
    ),
  ])
  expect(foreign).toEqual([])
})

test('in modules only routes.ts imports Elysia', () => {
  const users = sourcesIn('modules').filter((source) => namesPackage(source, /^@?elysia/))
  const others = users.filter(({ path }) => !/routes\.ts$/.test(path))
  expect(others.map(({ path }) => path)).toEqual([])
  expect(users.length).toBeGreaterThan(0)
})

/** Packages without I/O: schemas, keys of an order, comparison by value, table definitions. */
const pure = ['@sinclair/typebox', 'node:util', 'drizzle-orm', 'drizzle-orm/pg-core', 'fractional-indexing']

const rulesOfModules = () =>
  sourcesIn('modules').filter(({ path }) => /^modules\/.+\/commands\.ts$/.test(path))

test('commands.ts of every module is pure: neither the file nor its imports do I/O or read the clock', () => {
  const rules = rulesOfModules()
  expect(rules.length).toBeGreaterThan(4)
  const loaded = closureOf(rules)
  const impure = loaded.flatMap((source) => {
    const imports = runtimeImportsOf(source)
    const packages = imports.filter(({ isPackage, name }) => isPackage && !pure.includes(name))
    const world = source.text.match(
      /\b(Date\.now|new Date\(\)|fetch\(|crypto\b|Math\.random|process\b|performance\b)/g,
    )
    return [...packages.map(({ name }) => name), ...(world ?? [])].map((one) => `${source.path}: ${one}`)
  })
  expect(impure).toEqual([])
})

test('commands.ts of a module imports no package, type imports included', () => {
  const impure = rulesOfModules().filter((rule) => namesPackage(rule, /./))
  expect(impure.map(({ path }) => path)).toEqual([])
})

test('only src/main.ts and src/local use the Bun global, import bun: or read process.env', () => {
  const portable = product().filter(({ path }) => path !== 'src/main.ts' && !isIn(path, 'src/local'))
  const platform = /\bBun\s*[.[]|\bprocess\.env\b/
  const users = portable.filter((one) => platform.test(one.text) || namesPackage(one, /^bun(:|$)/))
  expect(users.map(({ path }) => path)).toEqual([])
})

const namesPackage = (source: Source, pattern: RegExp) =>
  importsOf(source).some(({ name, isPackage }) => isPackage && pattern.test(name))

/** This file imports every module, so the search for indirect imports stops here. */
const listOfModules = 'modules/modules.ts'

function closureOf(sources: Source[]): Source[] {
  const found = new Map(sources.map((source) => [source.path, source]))
  for (const source of found.values()) {
    for (const { name, isPackage } of runtimeImportsOf(source)) {
      if (!isPackage && name !== listOfModules && !found.has(name)) found.set(name, read(name))
    }
  }
  return [...found.values()]
}
