import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export interface Source {
  path: string
  text: string
  lines: number
}

export interface Import {
  name: string
  isPackage: boolean
}

export function sourcesIn(...folders: string[]): Source[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => {
      const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      return files.filter((file) => file.endsWith('.ts')).map((file) => read(join(folder, file)))
    })
}

export const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder)).flatMap((file) => (file.endsWith('.md') ? `${folder}/${file}` : []))

export const product = () => sourcesIn('src', 'modules', 'workers', 'drizzle')

const generated = ['clients/typescript/src/api.ts', 'clients/typescript/src/declarations.ts']

/** The client library, the command line and the board, without generated code. */
export const clients = () => [
  ...sourcesIn('clients/typescript/src', 'clients/typescript/scripts', 'clients/cli/src').filter(
    ({ path }) => !generated.includes(path),
  ),
  ...board(),
]

/** The scripts of the board, which browsers load as they are. */
const board = () =>
  readdirSync(join(root, 'clients/board')).flatMap((name) =>
    name.endsWith('.js') ? [read(`clients/board/${name}`)] : [],
  )

export function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  return { path, text, lines: text.split('\n').length - 1 }
}

/** Returns the top-level files and folders that git tracks, or without git all that .gitignore does not exclude. */
export function topLevel(): string[] {
  const listed = spawnSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  const paths = listed.stdout.trim().split('\n')
  if (listed.status === 0) return [...new Set(paths.map((path) => path.split('/')[0]!))]
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
  return readdirSync(root).filter((name) => !ignored.includes(name) && !ignored.includes(`${name}/`))
}

const statement =
  /^\s*(?:import|export)\b[^'"`;=]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/gm

export function importsOf({ path, text }: Source): Import[] {
  const names = [...text.matchAll(statement)].map((match) => match[1] ?? match[2]!)
  // Bun's scanner skips type imports, so the pattern must find at least the imports that the scanner finds.
  const missed = runtimeNames(text).filter((name) => !names.includes(name))
  if (missed.length) throw new Error(`${path}: the imports ${missed.join(', ')} were not matched`)
  return names.map((name) => resolved(path, name))
}

export const runtimeImportsOf = ({ path, text }: Source) =>
  runtimeNames(text).map((name) => resolved(path, name))

const runtimeNames = (text: string) =>
  new Bun.Transpiler({ loader: 'ts' }).scanImports(text).map(({ path }) => path)

function resolved(from: string, name: string): Import {
  const isPackage = !name.startsWith('.')
  return { isPackage, name: isPackage ? name : relative(root, resolve(root, dirname(from), name)) }
}

/** Returns the text without comments and without the contents of strings. */
export function codeOf({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, (piece) =>
    piece.startsWith('/') ? '' : "''",
  )
}
