import { functionsIn } from './functions.ts'
import { clients, product, sourcesIn } from './source.ts'

const maxLines = 60

test(`no function is longer than ${maxLines} lines`, () => {
  const sources = [...product(), ...clients(), ...sourcesIn('bench')]
  const all = sources.flatMap((source) => functionsIn(source).map((span) => ({ ...span, path: source.path })))
  expect(all.length).toBeGreaterThan(sources.length)
  const long = all.filter(({ lines }) => lines > maxLines)
  expect(long.map(({ path, line, name, lines }) => `${path}:${line} ${name}: ${lines} lines`)).toEqual([])
})

test('the length of a function includes its first and last lines, but not its comment', () => {
  const text = '/** A comment. */\nexport const outer = () => {\n  return function inner() {\n  }\n}\n'
  const spans = functionsIn({ path: 'example.ts', text }).map(({ name, lines }) => [name, lines])
  expect(spans).toEqual([
    ['outer', 4],
    ['inner', 2],
  ])
})
