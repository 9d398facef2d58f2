import { join, resolve } from 'node:path'
import ts from 'typescript'
import { blocksOf } from '../docs/page.ts'
import { head, right, wrong as wrongCalls } from './client-code.ts'
import { rightProject, wrongProject } from './project-code.ts'

const examplesOf = (page: string) =>
  blocksOf(page)
    .filter(({ language }) => language === 'ts')
    .map(({ text }) => text)
    .join('\n')

/** The compiled files exist only in memory. */
const folder = import.meta.dirname
const sources = resolve(folder, '../../clients/typescript/src')
const wrong = [...wrongCalls, ...wrongProject]
const rightCodes = [
  right,
  rightProject,
  examplesOf('clients/typescript/README.md'),
  head + examplesOf('docs/conventions.md'),
]
const codes = new Map([...rightCodes, ...wrong].map((code, i) => [join(folder, `code-${i}.ts`), code]))

function errorsIn(files: Map<string, string>): string[][] {
  const options: ts.CompilerOptions = {
    strict: true,
    paths: {
      'docket-client': [join(sources, 'index.ts')],
      'docket-client/tanstack': [join(sources, 'tanstack.ts')],
    },
    noEmit: true,
    types: [],
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  }
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists } = host
  host.readFile = (path) => files.get(path) ?? readFile(path)
  host.fileExists = (path) => files.has(path) || fileExists(path)
  host.getSourceFile = (path, target) => {
    const text = host.readFile(path)
    return text === undefined ? undefined : ts.createSourceFile(path, text, target)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  return [...files.keys()].map((path) => {
    const file = program.getSourceFile(path)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'),
    )
  })
}

const errors = errorsIn(codes)

test('correct calls and the examples of the README compile', () => {
  expect(errors.slice(0, rightCodes.length)).toEqual(rightCodes.map(() => []))
})

test('a misspelt or mistyped field, filter or option does not compile', () => {
  const counts = errors.slice(rightCodes.length).map(({ length }, i) => [wrong[i], length])
  expect(counts).toEqual(wrong.map((code) => [code, 1]))
})
