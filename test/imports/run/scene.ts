import type { CommentItem, ImportedItem, SubtaskItem, TaskItem } from '../../../modules/imports/items.ts'
import type { Mapping } from '../../../modules/imports/mapping.ts'
import type { Reader } from '../../../modules/imports/readers/file.ts'
import type { ImportRow } from '../../../modules/imports/schema.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import type { Services } from '../../../src/services.ts'
import { openRunImport } from '../../../workers/imports/run-import.ts'
import { openUndoImport } from '../../../workers/imports/undo-import.ts'
import type { Throttle } from '../../../workers/throttle.ts'
import {
  type Body,
  type Client,
  make,
  newId,
  openScene,
  type Person,
  register,
  SliceEnded,
} from '../../kit.ts'

export const task = (key: string, others: Partial<TaskItem> = {}): TaskItem => ({
  ...{ kind: 'task', row: Number(key), key, title: `Task ${key}` },
  ...others,
})
export const subtask = (of: string, title: string, others: Partial<SubtaskItem> = {}): SubtaskItem => ({
  ...{ kind: 'subtask', row: Number(of), task: of, title, completed: false },
  ...others,
})
export const comment = (of: string, text: string, others: Partial<CommentItem> = {}): CommentItem => ({
  ...{ kind: 'comment', row: Number(of), task: of, text },
  ...others,
})

/** Reads a file with an item in each line, as JSON. */
export const lineReader: Reader = async function* ({ open }) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of open()) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield JSON.parse(line) as ImportedItem
  }
  if (rest) yield JSON.parse(rest) as ImportedItem
}

export const fileOf = (items: ImportedItem[]): string => items.map((one) => JSON.stringify(one)).join('\n')

interface ImportOptions {
  dryRun?: boolean
  mapping?: Mapping
  caller?: Caller
  batchRows?: number
}

interface Line {
  row: number | null
  externalId: string | null
  outcome: string
  message: string
}

/** Neither pauses nor ends a slice. */
export const fast: Throttle = { batchRows: 500, pauseMs: 0, pauses: () => 0 }

/** Ends the slice after each batch, as a stopping worker does. */
export const perBatch: Throttle = { batchRows: 500, pauseMs: 0, isOver: () => true, isStopping: () => false }

/** Opens a service whose worker is the test: files have an item in each line, and the test decides where slices end. */
export async function openRunScene(batchRows = 200) {
  const scene = await openScene()
  const { client, sql } = scene
  const { services } = scene.service
  const readers = { planka: lineReader }
  const execute = openRunImport(services, { readers, batchRows })
  const executeUndo = openUndoImport(services)

  /** Stores the import of a file, as the web process does. */
  async function queue(
    owner: Person,
    projectId: string,
    file: string | Uint8Array,
    options: ImportOptions = {},
  ) {
    const id = newId()
    const { dryRun = false, mapping = {}, caller = { userId: owner.id } } = options
    await sql`
      insert into imports (id, project_id, caller, source, dry_run, mapping, state)
      values (${id}, ${projectId}, ${JSON.stringify(caller)}::text::jsonb, 'planka', ${dryRun},
        ${JSON.stringify(mapping)}::text::jsonb, 'queued')`
    const chunks = Buffer.from(file)
    for (let at = 0, n = 0; at < chunks.length; at += 1_000, n++)
      await sql`insert into import_chunks (import_id, n, bytes) values (${id}, ${n}, ${chunks.subarray(at, at + 1_000)})`
    return id
  }

  /** Returns a worker that calls `onCommit` after each commit of a batch, before it records the outcomes. */
  function workerWith(onCommit: (n: number) => Promise<unknown>) {
    let commits = 0
    const runHere: Services['runHere'] = async (request) => {
      const reply = await services.runHere(request)
      await onCommit(++commits)
      return reply
    }
    const own = { ...services, runHere }
    return { run: openRunImport(own, { readers, batchRows }), undo: openUndoImport(own) }
  }

  /** Runs a queued import, as a worker does. `throttle` may end slices, after which the import continues. */
  async function work(importId: string, throttle: Throttle = fast, run = execute): Promise<number> {
    for (let slices = 1; ; slices++) {
      try {
        await run({ importId }, throttle)
        return slices
      } catch (error) {
        if (!(error instanceof SliceEnded)) throw error
      }
    }
  }

  async function resultOf(id: string) {
    const [row] = await sql<ImportRow[]>`select * from imports where id = ${id}`
    const { state, error, read, created, updated, unchanged, rejected, mapping } = row!
    const lines = await sql<Line[]>`
      select row, external_id, outcome, message from import_lines where import_id = ${id} order by n`
    const counts = { read, created, updated, unchanged, rejected }
    return { id, state, error, counts, mapping, lines: [...lines] }
  }

  /** Undoes an import, as a worker does. */
  async function undo(
    owner: Person,
    id: string,
    throttle?: Throttle,
    run = executeUndo,
    caller: Caller = { userId: owner.id },
  ) {
    await sql`update imports set undo_state = 'queued' where id = ${id}`
    await work(id, throttle, (data, slice) => run({ ...data, caller: JSON.stringify(caller) }, slice))
    const [row] = await sql<{ undoState: string; undone: number; kept: number }[]>`
      select undo_state, undone, kept from imports where id = ${id}`
    const { lines } = await resultOf(id)
    return { ...row!, lines: lines.filter(({ outcome }) => outcome === 'kept') }
  }

  return {
    ...{ ...scene, services, queue, work, resultOf, execute, undo, executeUndo, workerWith },
    async newProject() {
      const owner = await register(client)
      return { owner, projectId: (await make(owner, '/projects', { name: 'P' })).id }
    },
    async importItems(owner: Person, projectId: string, items: ImportedItem[], options: ImportOptions = {}) {
      const id = await queue(owner, projectId, fileOf(items), options)
      await work(id, fast, openRunImport(services, { readers, batchRows, ...options }))
      return resultOf(id)
    },
  }
}

export const tasksOf = async (client: Client, projectId: string): Promise<Body[]> =>
  (await client.get(`/tasks?projectId=${projectId}&limit=200`)).body
