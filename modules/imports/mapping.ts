import { type Static, type TSchema, type TUnsafe, Type } from '@sinclair/typebox'
import { IANAZone } from 'luxon'
import { checked, Email, Nullable } from '../../src/schema/input.ts'
import { Status } from '../tasks/schema.ts'
import { orderOf } from './readers/csv/dates.ts'

/** A file has at most 2,000 columns. The proposed mapping has at most 1,000 other names of each kind. */
const maxEntries = 2_000

/** The schema of an object with values by names in the file. */
const byName = <T extends TSchema>(value: T, values: string, example: Record<string, Static<T>>) =>
  Type.Object(
    {},
    {
      ...{ additionalProperties: value, maxProperties: maxEntries, examples: [example] },
      description: `An object of at most ${maxEntries} entries with ${values}`,
    },
  ) as unknown as TUnsafe<Record<string, Static<T>>>

const maxLength = 50

const text = (isValid: (value: string) => boolean, description: string, example: string) =>
  checked<string>((value) => typeof value === 'string' && value.length <= maxLength && isValid(value), {
    ...{ type: 'string', maxLength, description, examples: [example] },
  })

const Column = Nullable(Type.String({ maxLength: 100, description: 'The name of a field of tasks' }))

/** How the parts of a file become fields of tasks. Absent parts are guessed from the file. */
export const Mapping = Type.Partial(
  Type.Object(
    {
      statuses: byName(
        Nullable(Status),
        'the status for each list, section, column or status of the source. With null it becomes a label',
        { Backlog: 'TODO', Doing: 'IN_PROGRESS', Ideas: null },
      ),
      columns: byName(
        Column,
        'the field for each column of a CSV file, such as `title`, or `field.estimate` for a custom field. With null the column is not imported',
        { Summary: 'title', Estimate: 'field.estimate', Rank: null },
      ),
      people: byName(Email(), 'the email address for each name in the file', {
        'Ada L.': 'ada@example.com',
      }),
      dateFormat: text(
        (format) => orderOf(format) !== undefined,
        'The order of day, month and year in the dates of a CSV file: DD/MM/YYYY, MM/DD/YYYY, YYYY/MM/DD or YYYY/DD/MM, with any separators, and perhaps a time',
        'DD/MM/YYYY',
      ),
      timeZone: text(
        (zone) => IANAZone.isValidZone(zone),
        'The IANA time zone of dates without an offset, or an offset such as +02:00: UTC if it is absent',
        'Europe/Berlin',
      ),
    },
    { additionalProperties: false },
  ),
)
export type Mapping = Static<typeof Mapping>

/** Returns the value for a name in the file. The name may have another Unicode form than the key. */
export function valueFor<Value>(values: Record<string, Value> = {}, name: string): Value | undefined {
  const key = [name, name.normalize('NFC'), name.normalize('NFD')].find((form) => Object.hasOwn(values, form))
  return key === undefined ? undefined : values[key]
}
