import { Type } from '@sinclair/typebox'
import type { importLines, imports } from '../../drizzle/schema/imports.ts'
import { DryRun } from '../../src/batch/operation-schema.ts'
import { view } from '../../src/model/view.ts'
import { maxUrlCharacters } from '../../src/responses/errors.ts'
import { Input, AnyText, OneOf } from '../../src/schema/input.ts'
import { named, Count, Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import { Mapping } from './mapping.ts'
import { sources } from './sources.ts'

const Source = OneOf('ImportSource', sources, 'the system that wrote the file')

/** The maximum number of bytes of the parts of a form besides the file. */
export const formBytes = 1_048_576

const parameters = (maxMapping: number) => ({
  source: Type.Optional(Source),
  dryRun: DryRun,
  mapping: Type.Optional(
    AnyText(
      maxMapping,
      'A JSON object: how the parts of the file become fields',
      '{"dateFormat":"DD/MM/YYYY"}',
    ),
  ),
})

export const ImportParameters = Input(parameters(maxUrlCharacters))
export const formParameters = parameters(formBytes)

export const ImportMapping = named('ImportMapping', Mapping)

const Counts = Type.Object(
  {
    read: Count(0, 'Tasks read from the file', 120),
    created: Count(0, 'Tasks created', 100),
    updated: Count(0, 'Tasks changed, or tasks with a changed subtask or comment', 12),
    unchanged: Count(0, 'Tasks that did not change', 7),
    rejected: Count(0, 'Tasks rejected; the report has the reasons', 1),
  },
  { description: 'The numbers of tasks' },
)

const Undo = Type.Object({
  state: OneOf('ImportUndoState', ['queued', 'running', 'done', 'failed']),
  undone: Count(0, 'Tasks undone', 98),
  kept: Count(0, 'Tasks kept because somebody has changed them since', 2),
})

const timeOf = (event: string, example: string) =>
  OrNull(Timestamp(`When ${event}`), `When ${event}; null before`, example)

export type ImportRow = typeof imports.$inferSelect

export const importView = view<ImportRow>({
  name: 'Import',
  schema: Type.Object({
    id: Id('The import'),
    projectId: Id('The project'),
    source: Source,
    dryRun: Type.Boolean({ description: 'True if the import changes nothing', examples: [false] }),
    state: {
      ...OneOf('ImportState', ['queued', 'running', 'done', 'failed', 'cancelled']),
      examples: ['done'],
    },
    progress: Type.Number({
      ...{ minimum: 0, maximum: 1, description: 'The part that is complete, from 0 to 1', examples: [1] },
    }),
    counts: Counts,
    error: OrNull(
      Type.String(),
      'Why the import failed, with the place in the file, or why its undo failed; otherwise null',
    ),
    mapping: ImportMapping,
    undo: OrNull(Undo, 'The undo of the import; null if the import was not undone'),
    createdAt: Timestamp('When the upload began'),
    startedAt: timeOf('a worker began', '2027-01-15T09:30:02.000Z'),
    finishedAt: timeOf('the import ended', '2027-01-15T09:30:41.000Z'),
  }),
  computed: {
    // The rest is for subtasks, comments and blockers, which are imported after all tasks.
    progress: ({ state, read, created, updated, unchanged, rejected }) =>
      state === 'done' ? 1 : (0.8 * (created + updated + unchanged + rejected)) / Math.max(read, 1),
    counts: ({ read, created, updated, unchanged, rejected }) => ({
      ...{ read, created, updated, unchanged, rejected },
    }),
    undo: ({ undoState: state, undone, kept }) => state && { state, undone, kept },
  },
})

export type ReportLine = Omit<typeof importLines.$inferSelect, 'importId'>

export const reportLineView = view<ReportLine>({
  name: 'ImportReportLine',
  schema: Type.Object({
    row: OrNull(Type.Integer(), 'The number of the record in the file, from 1; null for the whole file', 17),
    externalId: OrNull(Type.String(), 'The external id of the task, or null', 'jira:ENG-17'),
    outcome: OneOf(
      'ImportOutcome',
      ['created', 'updated', 'unchanged', 'rejected', 'kept'],
      '`kept` means that an undo kept the row, because somebody has changed it since',
    ),
    message: Type.String({
      description: 'What differs from the file',
      examples: [
        'The assignee "Ada L." is not a member of the project. At the foot of the description: Assignee: Ada L.',
      ],
    }),
  }),
  hasNoEtag: true,
})
