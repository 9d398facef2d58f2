import { readdir } from 'node:fs/promises'

/** A deliberate fault: a small change of a product file, and the tests that should notice the change. */
export interface Mutant {
  /** The name of the list, such as `rights`. */
  topic: string
  file: string
  /** Beginnings of the paths of test files, below `test`. */
  tests: string[]
  /** The entry as it is in the list. */
  text: string
  /** The entry without its tests: an entry with other tests has the same result. */
  key: string
  /** Returns the changed content of the file. @throws Error unless the text to replace is in the file exactly once */
  apply(content: string): string
}

/**
 * Reads the lists. An entry has a line `file | tests`, lines with `- ` and the text to replace, and lines with `+ ` and
 * the new text. A blank line separates two entries. Indentation does not matter, and a line may be part of a line of
 * the file.
 */
export async function readMutants(dir: URL): Promise<Mutant[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.txt')).sort()
  const lists = names.map(async (name) => {
    const text = await Bun.file(new URL(name, dir)).text()
    return text
      .trim()
      .split(/\n\n+/)
      .map((entry) => readEntry(name.slice(0, -'.txt'.length), entry))
  })
  return (await Promise.all(lists)).flat()
}

function readEntry(topic: string, text: string): Mutant {
  const [head = '', ...lines] = text.split('\n')
  const [file = '', tests = ''] = head.split(' | ')
  const linesOf = (sign: string) => lines.flatMap((line) => (line[0] === sign ? line.slice(2) : []))
  const [before, after] = [linesOf('-'), linesOf('+').join('\n')]
  if (before.length + linesOf('+').length < lines.length || before.length === 0 || tests === '')
    throw new Error(`An entry of ${topic}.txt is malformed:\n${text}`)
  const pattern = new RegExp(
    before.map((line) => RegExp.escape(line.trim())).join(String.raw`[^\S\n]*\n\s*`),
    'g',
  )
  const apply = (content: string): string => {
    const count = content.match(pattern)?.length ?? 0
    if (count !== 1) throw new Error(`The text is in ${file} ${count} times, not once: update the entry`)
    const changed = content.replace(pattern, () => after)
    new Bun.Transpiler({ loader: 'ts' }).transformSync(changed)
    return changed
  }
  return { topic, file, tests: tests.split(' '), text, key: [file, ...lines].join('\n'), apply }
}
