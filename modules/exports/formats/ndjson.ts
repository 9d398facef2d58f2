import type { Format, Writer } from './format.ts'

/** A task for each line, as `GET /tasks/{id}` shows it, with lists of its children. */
export const ndjson: Format = {
  contentType: 'application/x-ndjson',
  extension: 'ndjson',
  hasAuthors: false,
  open(): Writer {
    let separator = ''
    return {
      begin: () => '',
      task: ({ shown }) => JSON.stringify(shown).slice(0, -1),
      beginChildren(_, plural) {
        separator = ''
        return `,${JSON.stringify(plural)}:[`
      },
      child(_, shown) {
        const text = separator + JSON.stringify(shown)
        separator = ','
        return text
      },
      endChildren: () => ']',
      endTask: () => '}\n',
      end: () => '',
    }
  },
}
