import { expect, test } from 'bun:test'
import { functionsIn } from './functions.ts'
import { product, sourcesIn } from './source.ts'

const mostLines = 40

test(`no function is longer than ${mostLines} lines, those that hold routes included`, () => {
  const sources = [...product(), ...sourcesIn('bench')]
  const all = sources.flatMap((source) => functionsIn(source).map((span) => ({ ...span, path: source.path })))
  expect(all.length).toBeGreaterThan(sources.length)
  const long = all.filter(({ lines }) => lines > mostLines)
  expect(long.map(({ path, line, name, lines }) => `${path}:${line} ${name}: ${lines} lines`)).toEqual([])
})

test('a function counts from its first to its last line, whatever its kind and wherever it stands', () => {
  const text = `/** Not counted. */
export function outer() {
  return {
    method() {
      return 1
    },
  }
}
export class Not {
  constructor(
    readonly a: number,
  ) {}
  get it() { return 1 }
}
export const arrow = (a: number) =>
  a
declare function without(): void
`
  const spans = functionsIn({ path: 'made-up.ts', text })
  expect(spans.map(({ name, line, lines }) => [name, line, lines])).toEqual([
    ['outer', 2, 7],
    ['method', 4, 3],
    ['Not', 10, 3],
    ['it', 13, 1],
    ['arrow', 15, 2],
  ])
})
