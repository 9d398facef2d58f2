import { type Static, Type } from '@sinclair/typebox'
import { Flag } from '../../src/batch/dry-run.ts'
import type { Download } from '../../src/commands/query.ts'
import { AsOfParameter } from '../../src/log/as-of.ts'
import { badRequest } from '../../src/responses/errors.ts'
import { Input } from '../../src/schema/input.ts'
import { named, sampleId } from '../../src/schema/response.ts'
import { OneOf } from '../../src/schema/text.ts'
import { csvColumns } from './cells.ts'
import { csv } from './formats/csv.ts'
import { docket } from './formats/docket.ts'
import { ndjson } from './formats/ndjson.ts'

export const formats = { docket, ndjson, csv }

const about =
  'docket is complete; ndjson has a task for each line; csv has a task for each row. Default: docket'

export const ExportQuery = Input({
  format: Type.Optional(OneOf('ExportFormat', Object.keys(formats) as (keyof typeof formats)[], about)),
  asOf: AsOfParameter(),
  history: Flag('History', 'true adds all events; only with the format docket'),
})
export type ExportQuery = Static<typeof ExportQuery>

export const historyNeedsDocket = () => badRequest('format must be docket if history is true')

const text = (name: string) => named(name, Type.String())

export const projectDownload: Download = {
  description: 'The file',
  headers: ['Content-Encoding', 'Content-Disposition', 'Docket-Version'],
  content: {
    'application/x-ndjson': {
      schema: text('LinesOfJson'),
      example: `{"docket":1,"project":{"id":"${sampleId}","name":"Engine"},"version":42,"exportedAt":"2027-01-31T17:00:00.000Z"}\n{"kind":"label","name":"bug"}\n{"kind":"end","lines":3}\n`,
    },
    'text/csv': {
      schema: text('CommaSeparatedValues'),
      example: `${csvColumns.slice(0, 6).join()}\r\n${sampleId},1,Draw the plate,,TODO,HIGH\r\n`,
    },
  },
}

export const accountDownload: Download = {
  description: 'The archive',
  headers: ['Content-Disposition'],
  content: { 'application/gzip': { schema: named('Archive', Type.String({ format: 'binary' })) } },
}

/** An ASCII name for a file, such as `analytical-engine`. */
export const fileName = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60)
    .replace(/^-+|-+$/g, '') || 'project'
