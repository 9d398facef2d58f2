import ts from 'typescript'
import { clients, product, type Source, sourcesIn } from './source.ts'

const maxLines = 60

/** Returns the name, first line and length of all functions, without the comments before them. */
function functionsIn({ path, text }: Pick<Source, 'path' | 'text'>) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineAt = (at: number) => file.getLineAndCharacterOfPosition(at).line + 1
  const found: { path: string; name: string; line: number; lines: number }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const line = lineAt(node.getStart(file))
      const named = ([node, node.parent] as { name?: ts.Node }[]).find(({ name }) => name)
      found.push({ path, name: named?.name?.getText() ?? '', line, lines: lineAt(node.end) - line + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

test(`no function is longer than ${maxLines} lines`, () => {
  const sources = [...product(), ...clients(), ...sourcesIn('bench')]
  const all = sources.flatMap(functionsIn)
  expect(all.length).toBeGreaterThan(sources.length)
  expect(all.filter(({ lines }) => lines > maxLines)).toEqual([])
})
