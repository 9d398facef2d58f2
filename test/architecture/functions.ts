import ts from 'typescript'
import type { Source } from './source.ts'

export interface Span {
  name: string
  line: number
  lines: number
}

/** Returns all functions of a file. An inner function also counts for the outer function; comments before it do not. */
export function functionsIn({ path, text }: Pick<Source, 'path' | 'text'>): Span[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineAt = (at: number) => file.getLineAndCharacterOfPosition(at).line + 1
  const found: Span[] = []
  const visit = (node: ts.Node): void => {
    if (isFunction(node)) {
      const line = lineAt(node.getStart(file))
      found.push({ name: nameOf(node), line, lines: lineAt(node.end) - line + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const isFunction = (node: ts.Node) => ts.isFunctionLike(node) && 'body' in node && node.body !== undefined

function nameOf(node: ts.Node): string {
  for (const { name } of [node, node.parent] as { name?: ts.Node }[]) if (name) return name.getText()
  return ''
}
