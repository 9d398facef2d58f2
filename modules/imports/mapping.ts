import { type Static, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'
import { Nullable } from '../../src/schema/text.ts'
import { Status } from '../tasks/schema.ts'

const maxEntries = 1_000

/** An object of values by names that the file contains. */
const byName = <T extends TSchema>(value: T, description: string, example: Record<string, Static<T>>) =>
  Type.Object(
    {},
    { additionalProperties: value, maxProperties: maxEntries, description, examples: [example] },
  ) as unknown as TUnsafe<Record<string, Static<T>>>

const Column = Nullable(Type.String({ maxLength: 100, description: 'The name of a field of tasks' }))
const Email = Type.String({ maxLength: 254, description: 'An email address' })

/** How the parts of a file become fields of tasks. Absent parts are guessed from the file. */
export const Mapping = Type.Partial(
  Type.Object(
    {
      statuses: byName(
        Nullable(Status),
        'An object with the status for each list, section, column or status of the source. With null it becomes a label',
        { Backlog: 'TODO', Doing: 'IN_PROGRESS', Ideas: null },
      ),
      columns: byName(
        Column,
        'An object with the field for each column of a CSV file, such as `title`, or `field.estimate` for a custom field. With null the column is not imported',
        { Summary: 'title', Estimate: 'field.estimate', Rank: null },
      ),
      people: byName(Email, 'An object with the email address for each name in the file', {
        'Ada L.': 'ada@example.com',
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
