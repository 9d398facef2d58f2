import { type Static, Type } from '@sinclair/typebox'
import { Status } from '../tasks/schema.ts'

const maxEntries = 1_000
const names = { maxProperties: maxEntries }

/** How the parts of a file become fields of tasks. Absent parts are guessed from the file. */
export const Mapping = Type.Partial(
  Type.Object(
    {
      statuses: Type.Record(Type.String({ maxLength: 500 }), Type.Union([Status, Type.Null()]), {
        ...names,
        description:
          'The status for each list, section, column or status of the source. With null it becomes a label',
        examples: [{ Backlog: 'TODO', Doing: 'IN_PROGRESS', Ideas: null }],
      }),
      columns: Type.Record(
        Type.String({ maxLength: 500 }),
        Type.Union([Type.String({ maxLength: 100 }), Type.Null()]),
        {
          ...names,
          description:
            'The field for each column of a CSV file, such as `title`, or `field.estimate` for a custom field. With null the column is not imported',
          examples: [{ Summary: 'title', Estimate: 'field.estimate', Rank: null }],
        },
      ),
      people: Type.Record(Type.String({ maxLength: 500 }), Type.String({ maxLength: 254 }), {
        ...names,
        description: 'The email address for each name in the file',
        examples: [{ 'Ada L.': 'ada@example.com' }],
      }),
      dateFormat: Type.String({
        maxLength: 50,
        description: 'The format of dates in a CSV file, such as `DD/MM/YYYY HH:mm`',
        examples: ['DD/MM/YYYY'],
      }),
      timeZone: Type.String({
        maxLength: 50,
        description: 'The IANA time zone of dates without an offset. Default: UTC',
        examples: ['Europe/Berlin'],
      }),
    },
    { additionalProperties: false },
  ),
)
export type Mapping = Static<typeof Mapping>
