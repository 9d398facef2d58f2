import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { read, root } from '../kit.ts'

export interface Block {
  language: string
  text: string
  line: number
  /** The `text` block directly below, which shows the output. */
  output?: string
}

export const pages = (): string[] => [
  'README.md',
  'clients/typescript/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
]

const fence = /^```(\w*)\n([^]*?)^```$/gm

/** Returns the fenced blocks of a page. A `text` block directly below an `sh` or `ts` block is its expected output. */
export function blocksOf(path: string): Block[] {
  const { text: page } = read(path)
  const blocks: Block[] = []
  let end = 0
  for (const match of page.matchAll(fence)) {
    const [whole, language = '', text = ''] = match
    const above = blocks.at(-1)
    const isOutput = language === 'text' && page.slice(end, match.index).trim() === ''
    if (isOutput && above && /^(sh|ts)$/.test(above.language)) above.output = text
    else blocks.push({ language, text, line: page.slice(0, match.index).split('\n').length })
    end = match.index + whole.length
  }
  return blocks
}

const changing: [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>'],
]

const withoutChanging = (text: string) =>
  changing.reduce((rest, [pattern, name]) => rest.replace(pattern, name), text.replaceAll('\r', '').trim())

/** Returns undefined if both outputs match. Ids and times may differ; `…` stands for any text within a line. */
export function difference(printed: string, shown: string): string | undefined {
  const [actual, expected] = [withoutChanging(printed), withoutChanging(shown)]
  const literal = (piece: string) => piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = expected.split('…').map(literal).join('[^\\n]*')
  return new RegExp(`^${pattern}$`).test(actual) ? undefined : `printed:\n${actual}\nshown:\n${expected}`
}
