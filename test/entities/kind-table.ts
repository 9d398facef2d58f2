type Value = string | number | boolean

interface NewField {
  name: string
  kind: string
  column: string
  declaration: string
  /** The key of the index for an order by the field. */
  index?: string
  /** A low, a middle and a high value. `reviewerId` gets the ids of members in place of these names. */
  values: [Value, Value, Value]
  /** What a task without a value shows. */
  none?: Value | null
  /** Inputs that are rejected. */
  wrong: unknown[]
  /** The name in files. */
  header?: string
  bounds?: [from: string, to: string]
}

/** A field of each kind, as CONTRIBUTING explains them. */
export const newFields: NewField[] = [
  {
    name: 'estimate',
    kind: 'wholeNumber',
    column: "integer('estimate')",
    declaration: `kind: kinds.wholeNumber,
      input: Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'A whole number of hours' })),
      output: OrNull(Type.Integer(), 'Hours, or null', 90), defaultValue: null, lists: 'lines',
      filter: { index: 'none', bounds: ['estimateMin', 'estimateMax'] }, sortedWith: 'status'`,
    index: "coalesce(estimate::float8, 'infinity')",
    values: [1, 3, 20],
    wrong: ['soon', 1.5, 3_000_000_000],
    bounds: ['estimateMin', 'estimateMax'],
  },
  {
    name: 'effort',
    kind: 'decimal',
    column: "doublePrecision('effort')",
    declaration: `kind: kinds.decimal,
      input: Nullable(Type.Number({ minimum: 0, maximum: 1_000_000, description: 'A number of days' })),
      output: OrNull(Type.Number(), 'Days, or null', 2.5), defaultValue: null, lists: 'lines',
      filter: { index: 'none', bounds: ['effortMin', 'effortMax'] }, sortedWith: 'status'`,
    index: "coalesce(effort::float8, 'infinity')",
    values: [0.0000001, 0.5, 2.25],
    wrong: ['soon', -1, true],
    bounds: ['effortMin', 'effortMax'],
  },
  {
    name: 'startsAt',
    kind: 'instant',
    column: "instant('starts_at')",
    declaration: `kind: kinds.instant, input: Nullable(Instant()), output: OrNull(Timestamp('When work starts'), 'When work starts, or null'),
      defaultValue: undefined, lists: 'preview',
      filter: { bounds: ['startsAfter', 'startsBefore'] }, sortedWith: 'status'`,
    index: "coalesce(starts_at, 'infinity')",
    values: ['2030-01-31T00:00:00.000Z', '2030-06-01T12:30:00.000Z', '2031-01-01T00:00:00.000Z'],
    wrong: ['soon', 3],
    bounds: ['startsAfter', 'startsBefore'],
  },
  {
    name: 'isPublic',
    kind: 'boolean',
    column: "boolean('is_public').notNull().default(false)",
    declaration: `kind: kinds.boolean, input: Type.Boolean({ description: 'True or false' }),
      output: Type.Boolean({ description: 'Whether everybody may know', examples: [false] }), defaultValue: false,
      lists: 'lines', filter: { index: 'none' }`,
    values: [true, true, true],
    none: false,
    wrong: ['yes', null],
  },
  {
    name: 'severity',
    kind: 'choice',
    column: "text('severity').$type<'MINOR' | 'MAJOR' | 'VERY_BAD'>()",
    declaration: `kind: kinds.choice, input: Nullable(OneOf('TaskSeverity', ['MINOR', 'MAJOR', 'VERY_BAD'] as const)),
      output: OrNull(OneOf('TaskSeverity', ['MINOR', 'MAJOR', 'VERY_BAD'] as const), 'How bad, or null', 'MAJOR'),
      defaultValue: null, lists: 'lines', filter: { index: 'none' }`,
    values: ['MINOR', 'MAJOR', 'VERY_BAD'],
    wrong: ['GOOD', 1],
  },
  {
    name: 'kind',
    kind: 'choice',
    column: "text('kind').$type<'BUG' | 'CHORE' | 'WISH'>()",
    declaration: `kind: kinds.choice, input: Nullable(OneOf('TaskKind', ['BUG', 'CHORE', 'WISH'] as const)),
      output: OrNull(OneOf('TaskKind', ['BUG', 'CHORE', 'WISH'] as const), 'A kind, or null', 'BUG'), defaultValue: null`,
    values: ['BUG', 'CHORE', 'WISH'],
    wrong: ['GOOD', 1],
    // Lines of files have a kind.
    header: 'ownKind',
  },
  {
    name: 'notes',
    kind: 'text',
    column: "text('notes')",
    declaration: `kind: kinds.text, input: Nullable(Text(0, 2_000, 'It squeaks')),
      output: OrNull(Type.String(), 'Notes, or null', 'It squeaks'), defaultValue: null`,
    values: ['a', '=b', 'null'],
    wrong: [1],
    header: 'ownNotes',
  },
  {
    name: 'teamName',
    kind: 'name',
    column: "text('team_name')",
    declaration: `kind: kinds.name, input: Nullable(Name(100, 'Brass')), output: OrNull(Type.String(), 'A team, or null', 'Brass'),
      defaultValue: undefined, header: 'team', option: 'team', filter: { index: 'none' }`,
    values: ['Brass', '=Iron, "old"', 'Züri'],
    wrong: ['', 'a\nb'],
    header: 'team',
  },
  {
    name: 'rationale',
    kind: 'text',
    column: "text('rationale')",
    declaration: `kind: kinds.text, input: Nullable(Text(0, 2_000, 'It squeaks')),
      output: OrNull(Type.String(), 'A reason, or null', 'It squeaks'), defaultValue: null, isSearched: true, header: 'details'`,
    header: 'details',
    values: ['It squeaks', '-1\n\n  two "lines"', 'null'],
    wrong: [1],
  },
  {
    name: 'reviewerId',
    kind: 'user',
    column: "uuid('reviewer_id')",
    declaration: `kind: kinds.user, input: Nullable(IdOf('user')), output: OrNull(Id('The reviewer'), 'The reviewer, or null'),
      defaultValue: null, header: 'reviewer', lists: 'lines', filter: { index: 'none' }`,
    values: ['Ada', 'Bea', 'Carl'],
    wrong: ['nobody', 1],
    header: 'reviewer',
  },
]
