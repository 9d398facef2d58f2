import { clients, codeOf, importsOf, product, read, runtimeImportsOf, sourcesIn } from './source.ts'
import type { Import, Source } from './source.ts'
import { words } from '../support/words.ts'

/** Files that may import from every layer. */
const composition = ['src/app.ts', 'src/main.ts']

/** The layers from bottom to top. A layer may import from itself and from earlier layers in this list. */
const layers = words(`
  drizzle package.json src/hosts.ts src/setting-values.ts src/tls.ts src/proxies.ts src/config.ts src/id-format.ts
  src/ids.ts src/logger.ts src/waits.ts src/metrics src/tracing
  src/responses src/schema src/redis src/postgres src/jobs src/admission src/identity src/outbound
  src/reads src/subscriptions
  src/model src/log src/commit src/lock src/routing src/actor src/commands src/batch src/openapi
  src/http src/services.ts src/routes src/module.ts
  src/local src/process modules workers`)

const isIn = (path: string, place: string) => path === place || path.startsWith(`${place}/`)
const layerOf = (path: string) => layers.findIndex((place) => isIn(path, place))
const layered = () => product().filter(({ path }) => !composition.includes(path))
const pathsOf = (sources: Source[]) => sources.map(({ path }) => path)

/** Returns the imports, type imports included, that match. */
const imported = (sources: Source[], matches: (one: Import, from: string) => boolean) =>
  sources.flatMap((source) =>
    importsOf(source).flatMap((one) =>
      matches(one, source.path) ? `${source.path} imports ${one.name}` : [],
    ),
  )
const namesPackage = (source: Source, pattern: RegExp) =>
  imported([source], ({ name, isPackage }) => isPackage && pattern.test(name)).length > 0

test('every product file belongs to a layer, and each layer imports only from itself and lower layers', () => {
  expect(pathsOf(layered()).filter((path) => layerOf(path) < 0)).toEqual([])
  const isUpward = ({ name, isPackage }: Import, from: string) => {
    const layer = layerOf(name)
    return !isPackage && (layer < 0 || layer > layerOf(from))
  }
  expect(imported(layered(), isUpward)).toEqual([])
})

test('no two modules import each other, and src/local imports nothing outside itself', () => {
  const moduleOf = (path: string) => /^modules\/[a-z-]+(?=\/)/.exec(path)?.[0]
  const pairs = new Set(
    sourcesIn('modules').flatMap((source) =>
      importsOf(source).map(({ name }) => [moduleOf(source.path), moduleOf(name)].join(' ')),
    ),
  )
  const both = [...pairs].filter((pair) => {
    const [one, other] = pair.split(' ')
    return one && other && one !== other && pairs.has(`${other} ${one}`)
  })
  expect(both).toEqual([])
  const isOutside = ({ name, isPackage }: Import) => !isPackage && !isIn(name, 'src/local')
  expect(imported(sourcesIn('src/local'), isOutside)).toEqual([])
})

test('imports form no cycles, type imports included', () => {
  const sources = [...product(), ...clients()]
  const paths = new Set(pathsOf(sources))
  const namesIn = (source: Source) => importsOf(source).flatMap(({ name }) => (paths.has(name) ? name : []))
  const imports = new Map(sources.map((source) => [source.path, namesIn(source)]))
  const reaches = (from: string, goal: string, seen = new Set<string>()): boolean =>
    imports.get(from)!.some((name) => {
      if (name === goal) return true
      if (seen.has(name)) return false
      seen.add(name)
      return reaches(name, goal, seen)
    })
  expect([...paths].filter((path) => reaches(path, path))).toEqual([])
})

test('the product imports no test or benchmark, and no client; the client library only its own files', () => {
  expect(imported(product(), ({ name }) => /^(test|bench|clients)\//.test(name))).toEqual([])
  expect(imported(clients(), ({ name }) => /^(test|bench)\//.test(name))).toEqual([])
  const library = clients().filter(({ path }) => isIn(path, 'clients/typescript/src'))
  expect(library.length).toBeGreaterThan(5)
  const isForeign = ({ name, isPackage }: Import) =>
    isPackage ? name !== '@tanstack/db' : !isIn(name, 'clients/typescript/src')
  expect(imported(library, isForeign)).toEqual([])
  const usesPlatform = (source: Source) => /\b(Bun|Deno|process|Buffer)\s*[.[]/.test(codeOf(source))
  expect(pathsOf(library.filter(usesPlatform))).toEqual([])
})

test('no module imports Elysia', () => {
  const users = sourcesIn('modules').filter((source) => namesPackage(source, /^@?elysia/))
  expect(pathsOf(users)).toEqual([])
})

/** Packages without I/O: schemas, keys of an order, comparison by value, table definitions. */
const pure = words('@sinclair/typebox node:util drizzle-orm drizzle-orm/pg-core fractional-indexing')
/** This file imports every module, so the search for indirect imports stops here. */
const listOfModules = 'modules/modules.ts'

test('commands.ts of every module is pure: neither the file nor its imports do I/O or read the clock', () => {
  const rules = sourcesIn('modules').filter(({ path }) => /^modules\/.+\/commands\.ts$/.test(path))
  expect(rules.length).toBeGreaterThan(4)
  expect(pathsOf(rules.filter((rule) => namesPackage(rule, /./)))).toEqual([])
  const loaded = new Map(rules.map((source) => [source.path, source]))
  for (const source of loaded.values())
    for (const { name, isPackage } of runtimeImportsOf(source))
      if (!isPackage && name !== listOfModules && !loaded.has(name)) loaded.set(name, read(name))
  const world = /\b(Date\.now|new Date\(\)|fetch\(|crypto\b|Math\.random|process\b|performance\b)/g
  const impure = [...loaded.values()].flatMap((source) => {
    const packages = runtimeImportsOf(source).filter(
      ({ isPackage, name }) => isPackage && !pure.includes(name),
    )
    const all = [...packages.map(({ name }) => name), ...(source.text.match(world) ?? [])]
    return all.map((one) => `${source.path}: ${one}`)
  })
  expect(impure).toEqual([])
})

test('only src/main.ts and src/local use the Bun global, import bun: or read process.env', () => {
  const portable = product().filter(({ path }) => path !== 'src/main.ts' && !isIn(path, 'src/local'))
  const platform = /\bBun\s*[.[]|\bprocess\.env\b/
  const users = portable.filter((one) => platform.test(one.text) || namesPackage(one, /^bun(:|$)/))
  expect(pathsOf(users)).toEqual([])
})

/**
 * A test that imports the product breaks when the product is redesigned, so most tests use HTTP. Type imports, the kit and
 * `test/unit` do not count.
 */
const maxImporting = 50

test(`at most ${maxImporting} files of tests outside test/unit and the kit import values of the product`, () => {
  const isProduct = ({ name, isPackage }: Import) => !isPackage && /^(src|modules|workers)\//.test(name)
  const others = sourcesIn('test').filter(({ path }) => !isIn(path, 'test/unit') && path !== 'test/kit.ts')
  const importing = others.filter((source) => runtimeImportsOf(source).some(isProduct))
  expect(pathsOf(importing).slice(maxImporting)).toEqual([])
})
