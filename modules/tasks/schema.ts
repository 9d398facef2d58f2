import { type Static, Type } from '@sinclair/typebox'
import type { TaskRow } from '../../drizzle/rows.ts'
import { editsOf, field, inputsOf, outputsOf, referencesIn } from '../../src/model/fields.ts'
import { ifSet, view } from '../../src/model/view.ts'
import { IdOf, Input, OwnId, Instant, Name, Nullable, OneOf, Text } from '../../src/schema/input.ts'
import { unique, Id, OrNull, sampleId, Timestamp } from '../../src/schema/response.ts'
import {
  FieldValuesInput,
  FieldValuesOutput,
  fitsField,
  fitsSql,
  shownFields as shownValues,
} from '../fields/values.ts'
import { keyOf } from '../order/keys.ts'
import { spot } from '../order/schema.ts'
import { claimOf, claimSchema, claimTag } from './claim.ts'
import * as kinds from './kinds.ts'
import { taskField } from './kinds.ts'

/** The maximum number of labels of a task, and the maximum number of tasks that block it. */
export const maxIds = 50

export const statuses = ['TODO', 'IN_PROGRESS', 'DONE'] as const
export const Status = OneOf('TaskStatus', statuses)
export const priorities = ['LOW', 'MEDIUM', 'HIGH'] as const
export const Priority = OneOf('TaskPriority', priorities)

const Title = Name(500, 'Draw the second plate')
export const maxDescription = 20_000

const ExternalId = {
  ...Name(200, 'JIRA-42'),
  [unique]: true,
  description: 'A text of 1 to 200 characters, without control characters',
}

const ExternalIdParameter = {
  ...Text(1, 200, 'JIRA-42'),
  description: 'A text of 1 to 200 characters: lists the task with this external id. Needs projectId',
}

/** The fields that clients can set, in the order of the response. `modules/tasks/kinds.ts` explains each part. */
export const fields = {
  description: taskField({
    kind: kinds.text,
    input: Nullable(Text(0, maxDescription, 'In ink, with all wheels')),
    output: OrNull(Type.String(), 'A description, or null', 'In ink, with all wheels'),
    defaultValue: null,
    otherHeaders: 'notes,details,body,desc,content,task content,note,card description,task description',
  }),
  status: taskField({
    kind: kinds.choice,
    input: Status,
    output: Status,
    defaultValue: 'TODO' as const,
    lists: 'lines',
    filter: { index: 'sorted' },
    otherHeaders: 'state,stage,state name,status name,current state,task status',
  }),
  priority: taskField({
    kind: kinds.choice,
    input: Priority,
    output: Priority,
    defaultValue: 'MEDIUM' as const,
    lists: 'lines',
    filter: { index: 'sorted' },
    otherHeaders: 'importance,urgency,priority name,prio',
  }),
  dueDate: taskField({
    kind: kinds.instant,
    input: Nullable(Instant()),
    output: OrNull(
      Timestamp('When the task is due'),
      'When the task is due, or null',
      '2027-01-31T17:00:00.000Z',
    ),
    defaultValue: null,
    option: 'due',
    lists: 'lines',
    filter: { bounds: ['dueAfter', 'dueBefore'] },
    sortedWith: 'assignee',
    otherHeaders: 'due,deadline,due on,due at,due by,target date,end date,finish date,finish,end',
  }),
  assigneeId: taskField({
    kind: kinds.user,
    input: Nullable(IdOf('user')),
    output: Type.Union([Id('The user to whom the task is assigned'), Type.Null()], {
      description: 'The user to whom the task is assigned, or null',
    }),
    defaultValue: null,
    header: 'assignee',
    otherHeaders: `assigned to,assignees,assigned,assignee name,assigned to name,assign,assign to,owner,owners,owned by,
      responsible,person,resource names,members,assigned users,assignee username`,
    lists: 'lines',
    filter: { index: 'sorted' },
  }),
  externalId: taskField({
    kind: kinds.name,
    input: Nullable(ExternalId),
    output: OrNull(Type.String(), 'The id of the task in another system, or null', 'JIRA-42'),
    defaultValue: undefined,
    lists: 'preview',
    filter: { index: 'own', parameter: ExternalIdParameter, needsProject: true },
  }),
  remindAt: taskField({
    kind: kinds.instant,
    input: Nullable(Instant()),
    output: OrNull(
      Timestamp('When the event task.reminded is recorded'),
      'When the event `task.reminded` is recorded, or null',
    ),
    defaultValue: undefined,
    otherHeaders: 'reminder',
  }),
}
const values = {
  fields: field.values('field', FieldValuesInput, FieldValuesOutput, {
    key: 'key',
    type: 'type',
    fits: fitsField,
    fitsSql,
  }),
}
/** Lists of ids. The empty list is stored as null, so that the rows of plain tasks leave these fields out. */
const lists = {
  labelIds: {
    ...field.ids('label', { by: 'name', creates: true }, maxIds),
    ...{ header: 'labels', lists: 'lines' as const, otherHeaders: 'tags,label,tag,categories,category' },
  },
  blockedByIds: {
    ...field.ids('task', 'drop', maxIds),
    ...{
      header: 'blockedBy',
      lists: 'preview' as const,
      otherHeaders: 'depends on,dependencies,predecessors',
    },
  },
}
export type FieldName = keyof typeof fields | keyof typeof lists
/** All fields that clients can set, except the title and values of custom fields. */
export const taskFields = Object.entries({ ...fields, ...lists }) as [FieldName, kinds.AnyField][]
/** The fields that files show by the names of people or labels, in place of ids. */
export const namedFields = taskFields.filter(
  ([, { kind, reference }]) => kind === kinds.user || reference?.to === 'label',
)
export const userFields = taskFields.flatMap(([name, { kind }]) => (kind === kinds.user ? [name] : []))
/** The fields that searches find besides the title and the description. */
export const searchedFields = taskFields.flatMap(([name, { isSearched }]) => (isSearched ? [name] : []))
/** The parameters of lists that filter by a field of a task. */
export const fieldParameters = taskFields.flatMap(([name, field]) =>
  [...(field.filter?.index ? [name] : []), ...(field.filter?.bounds ?? [])].map(
    (one) => [one, field] as const,
  ),
)
export const headerOf = (name: string, { header }: kinds.ShownUses): string => header ?? name
export const references = referencesIn({ ...fields, ...lists, ...values })
const optional = { ...inputsOf(fields), ...inputsOf(lists), ...inputsOf(values) }

export const CreateTask = Input({
  id: OwnId(),
  title: Title,
  projectId: IdOf('project'),
  ...optional,
  ...spot,
})
export type TaskInput = Static<typeof CreateTask>
/** The largest number that its column can store. */
export const maxAttempts = 2_147_483_647

export const UpdateTask = Input({
  id: IdOf('task'),
  title: Type.Optional(Title),
  projectId: Type.Optional(IdOf('project')),
  attempts: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: maxAttempts,
      description:
        'A whole number: 0 resets the attempts; another number is ignored, and also 0 in a body with `number`',
      examples: [0],
    }),
  ),
  number: Type.Optional(Type.Unknown({ readOnly: true, description: 'The number in the project' })),
  ...optional,
  ...editsOf(lists),
  ...spot,
})
export const UpsertTask = Input({
  ...optional,
  projectId: IdOf('project'),
  externalId: ExternalId,
  title: Type.Optional(Title),
})
export const AppendToTask = Input({
  id: IdOf('task'),
  field: OneOf('AppendField', ['description']),
  text: Text(1, maxDescription, 'In brass, please.'),
})
export type TaskChange = Omit<Static<typeof UpdateTask>, 'id' | 'projectId'>
export const UnassignTasks = Input({
  projectId: IdOf('project'),
  userId: IdOf('user'),
  ids: Type.Array(IdOf('task')),
})

const idsOf = (noun: string, description: string) =>
  Type.Array(Id(`The id of a ${noun}`), { maxItems: maxIds, description, examples: [[sampleId]] })

const extras = {
  labelIds: idsOf('label', 'The labels of the task, in the order of the client'),
  blockedByIds: idsOf('task', 'The tasks that must be done before this task'),
  ...outputsOf(values),
  claim: OrNull(claimSchema, 'The claim of a worker on the task, or null'),
  attempts: Type.Integer({
    minimum: 0,
    description: 'How many claims have expired, or were released with `failed`',
    examples: [0],
  }),
  importedAuthor: OrNull(
    Type.String(),
    'The name of the author in the system that the task was imported from, or null',
    'Grace Hopper',
  ),
}

/** The fields in optional columns: a task without a value stores nothing. */
const optionalFields = taskFields.flatMap(([name, { defaultValue }]) =>
  defaultValue === undefined ? [name] : [],
)

/** A field as the OpenAPI document describes it to clients. */
function describedField([name, field]: (typeof taskFields)[number]) {
  const { kind, reference, defaultValue, filter, lists } = field
  const hyphens = (field.header ?? name).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return {
    ...{ name, kind: kind?.is ?? `${reference!.to}s`, default: defaultValue ?? null },
    option: field.option ?? hyphens,
    ...(lists === 'lines' && { isInLists: true }),
    ...(filter?.index && { isFilter: true }),
    ...(filter?.bounds && { bounds: filter.bounds }),
  }
}

export const taskView = view<TaskRow>({
  name: 'Task',
  schema: Type.Object(
    {
      id: Id('The task'),
      projectId: Id('The project that contains the task'),
      number: Type.Integer({
        minimum: 1,
        description: 'The number in the project: 1, 2, 3 …',
        examples: [42],
      }),
      title: Type.String({ description: 'The title of the task', examples: ['Draw the second plate'] }),
      ...outputsOf(fields),
      createdAt: Timestamp('When the task was created'),
      updatedAt: Timestamp('When the task was last changed'),
      position: Type.String({
        description:
          'The place in the project: compared byte by byte, these texts give the order of `sort=position`',
        examples: ['j0000000042'],
      }),
      ...extras,
    },
    { 'x-fields': taskFields.map(describedField) },
  ),
  etagSuffix: ifSet('claimedBy', '', claimTag),
  computed: {
    ...Object.fromEntries(Object.keys(lists).map((name) => [name, ifSet(name as FieldName, [])])),
    ...Object.fromEntries(optionalFields.map((name) => [name, ifSet(name, null)])),
    fields: ifSet('fields', {}, ({ fields }) => shownValues(fields!)),
    claim: ifSet('claimedBy', null, claimOf),
    // Computed, so that lists of tasks without attempts do not read the column.
    attempts: ifSet('attempts', 0, ({ attempts }) => attempts!),
    importedAuthor: ifSet('importedAuthor', null),
    position: keyOf,
  },
})

export const RecordTimes = Input({ projectId: IdOf('project'), ids: Type.Array(IdOf('task')) })
