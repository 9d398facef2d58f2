import { basename } from 'node:path'
import { clients, codeOf, pagesIn, product, read, type Source, sourcesIn, topLevel } from './source.ts'

const maxLines = 400
/** The sizes of today. A change that makes the product or the pages larger must raise its number here. */
const budget = { lines: 36_800, files: 290, words: 21_900 }
const allowedAtTop = `src modules workers drizzle test bench package.json tsconfig.json bunfig.toml
  docker-compose.yml Dockerfile README.md CHANGELOG.md CONTRIBUTING.md LICENSE bun.lock docs ops clients .ci .github .gitignore .dockerignore
  .env.example .prettierignore`.split(/\s+/)

/** The only files that re-export: what a package offers, and what most tests use. */
const entries = ['clients/typescript/src/index.ts', 'test/kit.ts']

const everything = () => [...product(), ...clients(), ...sourcesIn('test', 'bench')]
const paths = (sources: Source[]) => sources.map(({ path }) => path)
const withCode = (sources: Source[], pattern: RegExp) =>
  paths(sources.filter((source) => pattern.test(codeOf(source))))

test('the top level contains only the listed files and folders', () => {
  expect(topLevel().filter((name) => !allowedAtTop.includes(name))).toEqual([])
})

test(`no file is longer than ${maxLines} lines`, () => {
  expect(everything().filter(({ lines }) => lines > maxLines)).toEqual([])
})

test(`the product has at most ${budget.lines} lines in ${budget.files} files, and the pages at most ${budget.words} words`, () => {
  const sources = product()
  const lines = sources.reduce((sum, one) => sum + one.lines, 0)
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...pagesIn('docs')]
  const words = pages.flatMap((path) => read(path).text.split(/\s+/).filter(Boolean)).length
  expect(lines).toBeLessThanOrEqual(budget.lines)
  expect(sources.length).toBeLessThanOrEqual(budget.files)
  expect(words).toBeLessThanOrEqual(budget.words)
})

test('files are named in kebab case', () => {
  const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*((\.deep)?\.test)?\.[jt]s$/
  expect(paths(everything()).filter((path) => !kebabCase.test(basename(path)))).toEqual([])
})

test('all exports are named, and only the entries of the client and of the tests re-export', () => {
  const sources = everything().filter(({ path }) => !entries.includes(path))
  expect(withCode(sources, /\bexport\s+default\b|\bas\s+default\b/)).toEqual([])
  expect(withCode(sources, /^\s*export\s+(type\s+)?(\*|\{[^}]*\})[^;\n]*\bfrom\b/m)).toEqual([])
  expect(paths(sources).filter((path) => basename(path) === 'index.ts')).toEqual([])
})

test('no code uses any, and no comment suppresses a type error', () => {
  expect(withCode([...product(), ...clients()], /(?::|\bas|<|,|\||&|=>|=)\s*any\b(?!\s*\()/)).toEqual([])
  const silenced = everything().filter(({ text }) => /@ts-(ignore|nocheck|expect-error)/.test(text))
  expect(paths(silenced).filter((path) => path !== 'test/architecture/house-rules.test.ts')).toEqual([])
})

test('no comment begins with a TODO or FIXME marker', () => {
  // Comments may name the task status TODO, but not begin with it.
  const notes = everything().filter(({ text }) => /(\/\/|\/?\*)\s*(TODO|FIXME|XXX|HACK)\b/.test(text))
  expect(paths(notes)).toEqual([])
})

test('waits use node:timers/promises, and waits with a timeout use waits.ts', () => {
  // This file has its own timer because every commit uses the file; waits.ts explains the cost.
  const exempt = ['src/commit/commit.ts']
  const waits = withCode(product(), /setTimeout\(\s*resolve\b|Promise\.race\(\[[^\]]*(setTimeout|sleep)\(/)
  expect(waits.filter((path) => !exempt.includes(path))).toEqual(['src/waits.ts'])
})

test('no test is skipped or marked as the only one', () => {
  expect(withCode(sourcesIn('test'), /\b(test|it|describe)\.(skip|only|todo|if|skipIf|todoIf)\b/)).toEqual([])
})
