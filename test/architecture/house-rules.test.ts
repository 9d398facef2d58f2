import { expect, test } from 'bun:test'
import { basename } from 'node:path'
import { codeOf, product, type Source, sourcesIn, topLevel } from './source.ts'

const mostLines = 200
const medianLines = 50
const allowedAtTop = `src modules workers drizzle test bench package.json tsconfig.json bunfig.toml
  docker-compose.yml Dockerfile README.md CHANGELOG.md CONTRIBUTING.md LICENSE bun.lock docs ops clients .ci .github .gitignore .dockerignore
  .env.example`.split(/\s+/)

const everything = () => sourcesIn('src', 'modules', 'workers', 'drizzle', 'test', 'bench')
const paths = (sources: Source[]) => sources.map(({ path }) => path)
const withCode = (sources: Source[], pattern: RegExp) =>
  paths(sources.filter((source) => pattern.test(codeOf(source))))

test('the top level holds what a newcomer expects, and no more', () => {
  expect(topLevel().filter((name) => !allowedAtTop.includes(name))).toEqual([])
})

test(`no file is longer than ${mostLines} lines`, () => {
  expect(everything().filter(({ lines }) => lines > mostLines)).toEqual([])
})

test(`half of the files have at most ${medianLines} lines`, () => {
  const lengths = product()
    .map(({ lines }) => lines)
    .sort((a, b) => a - b)
  expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(medianLines)
})

test('files are named in kebab case', () => {
  const named = /^[a-z0-9]+(-[a-z0-9]+)*((\.deep)?\.test)?\.ts$/
  expect(paths(everything()).filter((path) => !named.test(basename(path)))).toEqual([])
})

test('exports are named, and no file only passes on what others export', () => {
  const sources = everything()
  expect(withCode(sources, /\bexport\s+default\b|\bas\s+default\b/)).toEqual([])
  expect(withCode(sources, /^\s*export\s+(type\s+)?(\*|\{[^}]*\})[^;\n]*\bfrom\b/m)).toEqual([])
  expect(paths(sources).filter((path) => basename(path) === 'index.ts')).toEqual([])
})

test('nothing escapes its type', () => {
  expect(withCode(product(), /(?::|\bas|<|,|\||&|=>|=)\s*any\b(?!\s*\()/)).toEqual([])
  const silenced = everything().filter(({ text }) => /@ts-(ignore|nocheck|expect-error)/.test(text))
  expect(paths(silenced).filter((path) => path !== 'test/architecture/house-rules.test.ts')).toEqual([])
})

test('nothing is left to do', () => {
  // The word itself is a status of tasks: what is looked for is a note that begins with it.
  const notes = everything().filter(({ text }) => /(\/\/|\/?\*)\s*(TODO|FIXME|XXX|HACK)\b/.test(text))
  expect(paths(notes)).toEqual([])
})

test('a wait for time is that of node:timers/promises, and a bounded one that of within.ts', () => {
  // What every commit and every body waits for has its own timer: within.ts says why.
  const own = ['src/commit/commit.ts']
  const waits = withCode(product(), /setTimeout\(\s*resolve\b|Promise\.race\(\[[^\]]*(setTimeout|sleep)\(/)
  expect(waits.filter((path) => !own.includes(path))).toEqual(['src/within.ts'])
})

test('no test is skipped or run alone', () => {
  expect(withCode(sourcesIn('test'), /\b(test|it|describe)\.(skip|only|todo|if|skipIf|todoIf)\b/)).toEqual([])
})
