import { join, resolve } from 'node:path'
import ts from 'typescript'
import { blocksOf } from '../docs/page.ts'

/** The first lines of each program: they open a client. */
const head = `
  import { Docket } from 'docket-client'
  const docket = new Docket({ url: 'http://localhost:3000', token: async () => 'token' })
  const projectId = ''
  const project = docket.project(projectId)
`

/** Calls that compile, whose results have these types. */
const right = `${head}
  import type { FeedEvent, Task } from 'docket-client'
  export async function use(signal: AbortSignal) {
    const task: Task = await docket.tasks.create({ projectId, title: 'Draw', dueDate: null }, { signal })
    await docket.tasks.update(task.id, { ...task, priority: 'HIGH' }, { ifMatch: task, ifClaim: task })
    const nothing: undefined = await docket.tokens.delete('')
    for await (const event of project.follow({ after: 0, signal, transport: 'poll' })) {
      if (event.type === 'snapshot') event.tasks satisfies Task[]
      else if (event.type === 'task.updated') event.after?.status satisfies 'TODO' | 'IN_PROGRESS' | 'DONE' | undefined
      else event satisfies FeedEvent
    }
    return nothing
  }
`

/** Calls with one type error each. No call may compile. */
const wrong = [
  `docket.tasks.create({ projectId, titel: 'Draw' })`,
  `docket.tasks.create({ projectId, title: 5 })`,
  `docket.tasks.create({ projectId, title: 'Draw', status: 'DOING' })`,
  `docket.tasks.create()`,
  `docket.tasks.update({ status: 'DONE' })`,
  `docket.tasks.update('', { status: 'DONE' }, { ifmatch: '' })`,
  `docket.imports.create('', { projectId, source: 'csv', mapping: { colums: {} } })`,
  `docket.tasks.list({ limit: '20' })`,
  `docket.tasks.list({ ready: false })`,
  `docket.tasks.get()`,
  `docket.tasks.get('', { asof: 5 })`,
  `docket.tasks.get('', { ifMatch: '' })`,
  `docket.tasks.delete('', { revoke: true })`,
  `docket.tasks.get('').then((task) => task.titel)`,
  `docket.comments.list()`,
  `docket.members.create({ projectId, email: '', role: 'OWNER' })`,
  `docket.members.update('', { role: 'EDITOR' })`,
  `docket.views.create({ projectId, name: 'Late', query: { staus: 'TODO' } })`,
  `new Docket({ uri: '' })`,
  `project.follow({ transport: 'websocket' })`,
  `project.mirror().get(5)`,
  `project.batch((b) => { b.task.create({ titel: 'Cast' }) })`,
  `project.batch((b) => { b.tasks.create({ title: 'Cast' }) })`,
  `project.batch((b) => { b.subtask.create({ taskId: b.label.create({ name: 'bug' }), title: 'Order' }) })`,
  `project.batch((b) => { b.task.create({ title: 'Cast', labelIds: [b.task.create({ title: 'Mount' })] }) })`,
  `project.batch(() => {}, { dryrun: true })`,
  `project.undo({ seq: '5' })`,
  `project.work((task) => task.titel)`,
  `project.work(() => {}, { concurency: 2 })`,
]

const examplesOf = (page: string) =>
  blocksOf(page).flatMap(({ language, text }) => (language === 'ts' ? text : []))
const codes = [
  right,
  examplesOf('clients/typescript/README.md').join('\n'),
  head + examplesOf('docs/conventions.md').join('\n'),
  ...wrong.map((call) => `${head}export const call = ${call}\n`),
]

/** Returns the errors of each program. The programs exist only in memory. */
function errorsIn(programs: string[]): string[][] {
  const sources = resolve(import.meta.dirname, '../../clients/typescript/src')
  const files = new Map(programs.map((code, i) => [join(import.meta.dirname, `code-${i}.ts`), code]))
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

test('correct calls and the examples of the README compile; a call with a misspelt or mistyped name does not', () => {
  const errors = errorsIn(codes)
  const rightCount = codes.length - wrong.length
  expect(errors.slice(0, rightCount)).toEqual([[], [], []])
  const counts = errors.slice(rightCount).map(({ length }, i) => [wrong[i], length])
  expect(counts).toEqual(wrong.map((call) => [call, 1]))
})
