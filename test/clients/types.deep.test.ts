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
  import type { Event, FeedEvent, Task } from 'docket-client'
  export async function use(signal: AbortSignal) {
    const task: Task = await docket.tasks.create({ projectId, title: 'Draw', status: 'DONE', dueDate: null }, { signal })
    task.status satisfies 'TODO' | 'IN_PROGRESS' | 'DONE'
    await docket.tasks.update(task.id, { ...task, priority: 'HIGH' }, { ifMatch: task, ifClaim: task })
    for await (const { title } of docket.tasks.list({ ready: true, labels: [''], 'field.size.min': 2 }, { signal })) title satisfies string
    const [event]: Event[] = await docket.events.list({ projectId, after: 41, types: ['task.created'] })
    const nothing: undefined = await docket.tokens.delete('')
    for await (const event of project.follow({ after: 0, signal, transport: 'poll' })) {
      if (event.type === 'snapshot') event.tasks satisfies Task[]
      else if (event.type === 'task.updated') event.after?.status satisfies 'TODO' | 'IN_PROGRESS' | 'DONE' | undefined
      else if (event.entity === 'comment') event.after?.text satisfies string | undefined
      else event satisfies FeedEvent
    }
    await project.batch((b) => {
      const frame = b.task.create({ title: 'Cast', labelIds: [b.label.create({ name: 'bug' }), 'id'] })
      b.subtask.toggle({ id: b.subtask.create({ taskId: frame, title: 'Order brass' }) })
      b.member.setRole({ memberId: 'id', role: 'EDITOR' })
    }, { dryRun: true, ifVersion: 3 })
    const claimed: Task | undefined = await project.claimNext({ wait: 20, priority: 'HIGH', signal })
    await project.undo(claimed ? { seq: 3 } : { batch: 3 }, { dryRun: true })
    await project.work(async ({ id }, { signal }) => docket.tasks.get(id, { signal }), { concurrency: 2, labels: [''] })
    return { event, nothing }
  }
`

/** Calls with one type error each. No call may compile. */
const wrong = [
  `docket.tasks.create({ projectId, titel: 'Draw' })`,
  `docket.tasks.create({ projectId, title: 5 })`,
  `docket.tasks.create({ projectId, title: 'Draw', status: 'DOING' })`,
  `docket.tasks.create({ title: 'Draw' })`,
  `docket.tasks.create()`,
  `docket.tasks.update('', { staus: 'DONE' })`,
  `docket.tasks.update({ status: 'DONE' })`,
  `docket.tasks.update('', { status: 'DONE' }, { ifmatch: '' })`,
  `docket.imports.create('', { projectId, source: 'excel' })`,
  `docket.imports.create('', { projectId, source: 'csv', mapping: { colums: {} } })`,
  `docket.imports.create('', { projectId, source: 'csv', file: '' })`,
  `docket.tasks.list({ limits: 20 })`,
  `docket.tasks.list({ limit: '20' })`,
  `docket.tasks.list({ sort: 'title' })`,
  `docket.tasks.list({ ready: false })`,
  `docket.tasks.get()`,
  `docket.tasks.get('', { asof: 5 })`,
  `docket.tasks.get('', { ifMatch: '' })`,
  `docket.tasks.delete('', { revoke: true })`,
  `docket.tasks.get('').then((task) => task.titel)`,
  `docket.tasks.get('').then((task): string => task.assigneeId)`,
  `docket.subtasks.create({ taskid: '', title: 'Sharpen' })`,
  `docket.comments.list()`,
  `docket.members.create({ projectId, email: '', role: 'OWNER' })`,
  `docket.members.update('', { role: 'EDITOR' })`,
  `docket.tokens.create({ name: 'T', scopes: ['all'], expiresAt: '' })`,
  `docket.views.create({ projectId, name: 'Late', query: { staus: 'TODO' } })`,
  `docket.views.update('', { query: { status: 'LATE' } })`,
  `new Docket({ uri: '' })`,
  `project.history({ entities: 'task' })`,
  `project.follow({ from: 0 })`,
  `project.follow({ transport: 'websocket' })`,
  `project.mirror().get(5)`,
  `project.batch((b) => { b.task.create({ titel: 'Cast' }) })`,
  `project.batch((b) => { b.task.create({}) })`,
  `project.batch((b) => { b.tasks.create({ title: 'Cast' }) })`,
  `project.batch((b) => { b.subtask.create({ taskId: b.label.create({ name: 'bug' }), title: 'Order' }) })`,
  `project.batch((b) => { b.task.create({ title: 'Cast', labelIds: [b.task.create({ title: 'Mount' })] }) })`,
  `project.batch((b) => { b.task.create({ title: b.task.create({ title: 'Cast' }) }) })`,
  `project.batch(() => {}, { dryrun: true })`,
  `project.claimNext({ leaseSeconds: 60, label: '' })`,
  `project.undo({})`,
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
