import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'bun:test'
import openapiTypescript, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { right, wrong } from './client-code.ts'
import { openDocument } from './open-document.ts'

const folder = await mkdtemp(join(tmpdir(), 'docket-client-'))
await symlink(resolve(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'))
const types = astToString(await openapiTypescript(await openDocument()))
const codes = { 'right.ts': right, ...Object.fromEntries(wrong.map((code, i) => [`wrong-${i}.ts`, code])) }
await writeFile(join(folder, 'api.d.ts'), types)
for (const [name, code] of Object.entries(codes)) await writeFile(join(folder, name), code)
const messages: Map<string, string[]> = compiled(Object.keys(codes).map((name) => join(folder, name)))
afterAll(() => rm(folder, { recursive: true, force: true }))

function compiled(files: string[]): Map<string, string[]> {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  })
  const diagnostics = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => ({
    name: file?.fileName ?? '',
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }))
  return new Map(
    files.map((path) => [path, diagnostics.filter(({ name }) => name === path).map((one) => one.message)]),
  )
}

test('a client that is generated from the document compiles', () => {
  expect(messages.get(join(folder, 'right.ts'))).toEqual([])
})

test('a misspelt field, value, parameter or path does not compile', () => {
  for (const [i, code] of wrong.entries())
    expect([code, messages.get(join(folder, `wrong-${i}.ts`))?.length]).toEqual([code, 1])
})
