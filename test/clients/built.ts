import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { newFolder, root, sourcesIn } from '../kit.ts'

const folder = 'clients/typescript'
const compilerOptions: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
}

export const javaScriptOf = (text: string): string => ts.transpileModule(text, { compilerOptions }).outputText

/** Creates a folder in which programs can import the package `docket-client`, as JavaScript without types. */
export async function newFolderWithClient(): Promise<string> {
  const project = await newFolder('docket-client-')
  const built = join(project, 'node_modules/docket-client')
  await mkdir(built, { recursive: true })
  await symlink(join(root, 'node_modules/@tanstack'), join(project, 'node_modules/@tanstack'))
  await cp(join(root, folder, 'package.json'), join(built, 'package.json'))
  for (const { path, text } of sourcesIn(`${folder}/src`)) {
    const target = join(built, path.replace(`${folder}/src`, 'dist').replace(/\.ts$/, '.js'))
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, javaScriptOf(text))
  }
  return project
}
