import { type Author, type ExportedTask, type Format, namedIn, type Writer } from './format.ts'

/** The version of the format, in the first line. It changes when an earlier release cannot read the new files. */
export const docketFormat = 1

interface Signed {
  author: Author | null
  importedAuthor: string | null
}

/** The name of an author whose account is deleted, or whose event is no longer in the log. */
const unknownAuthor = 'Unknown'

/** The author of an imported row has only a name. */
const authorOf = ({ author, importedAuthor }: Signed) =>
  importedAuthor ? { name: importedAuthor } : (author ?? { name: unknownAuthor })

/** All rows of a project, a line for each, with the fields of responses. Imported rows are equal to exported rows. */
export const docket: Format = {
  contentType: 'application/x-ndjson',
  extension: 'docket.ndjson',
  hasAuthors: true,
  open({ version, exportedAt }, all): Writer {
    const { project, parts } = all
    let lines = 0
    const line = (kind: string, row: object): string => {
      lines++
      return `${JSON.stringify({ kind, ...row })}\n`
    }
    return {
      begin() {
        lines++
        const head = `${JSON.stringify({ docket: docketFormat, project, version, exportedAt })}\n`
        return head + parts.map(({ name, shown }) => line(name, shown)).join('')
      },
      task({ shown: { importedAuthor, ...shown }, author }: ExportedTask) {
        const externalId = shown.externalId ?? `docket:${shown.id}`
        return line('task', {
          ...{ ...shown, externalId, ...namedIn(shown, all) },
          author: authorOf({ author, importedAuthor: importedAuthor ?? null }),
        })
      },
      beginChildren: () => '',
      child(entity, shown) {
        if (!isSigned(shown)) return line(entity, shown)
        const { authorId: _, authorRemoved: __, importedAuthor, author, ...child } = shown
        return line(entity, { ...child, author: authorOf({ author, importedAuthor }) })
      },
      endChildren: () => '',
      endTask: () => '',
      event: (shown) => line('event', shown),
      end: () => line('end', { lines: lines + 1 }),
    }
  },
}
/** A child with an author. */
type SignedChild = Signed & Record<'authorId' | 'authorRemoved', unknown>
const isSigned = (shown: object): shown is SignedChild => 'authorId' in shown
