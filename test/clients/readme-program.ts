import { blocksOf, difference } from '../docs/page.ts'
import { javaScriptOf } from './built.ts'

const mark = '--- next block ---'
const blocks = blocksOf('clients/typescript/README.md').filter(({ language }) => language === 'ts')

/** Joins the examples of the README to one program. `name` becomes part of the email that the program registers. */
export const programOf = (url: string, name: string): string =>
  javaScriptOf(blocks.map(({ text }) => `${text}\nconsole.log('${mark}')\n`).join('\n'))
    .replaceAll('http://localhost:3000', url)
    .replaceAll('ada@example.com', `ada-${name.toLowerCase()}@example.com`)

export function expectShownOutput(stdout: string): void {
  const printed = stdout.split(mark).slice(0, -1)
  const found = blocks.map(({ line, output = '' }, n) => `${line}: ${difference(printed[n] ?? '', output)}`)
  expect(found).toEqual(blocks.map(({ line }) => `${line}: undefined`))
}
