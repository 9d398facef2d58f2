import type { Author, ExportedTask, Format, Writer } from './format.ts'

/** The version of the format, in the first line. It changes when an earlier release cannot read the new files. */
export const docketFormat = 1

interface ShownComment {
  author: Author | null
  importedAuthor: string | null
}

/** The name of an author whose account is deleted, or whose event is no longer in the log. */
const unknownAuthor = 'Unknown'

/** The author of an imported row has only a name. */
const authorOf = ({ author, importedAuthor }: ShownComment) =>
  importedAuthor ? { name: importedAuthor } : (author ?? { name: unknownAuthor })

/** All rows of a project, a line for each, with the fields of responses. Imported rows are equal to exported rows. */
export const docket: Format = {
  contentType: 'application/x-ndjson',
  extension: 'docket.ndjson',
  hasAuthors: true,
  open({ version, exportedAt }, { project, parts, labels, people }): Writer {
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
        const labelNames = shown.labelIds.map((id) => labels.get(id))
        const assignee = people.get(shown.assigneeId ?? '') ?? null
        const externalId = shown.externalId ?? `docket:${shown.id}`
        return line('task', {
          ...{ ...shown, externalId, labels: labelNames, assignee },
          author: authorOf({ author, importedAuthor: importedAuthor ?? null }),
        })
      },
      beginChildren: () => '',
      child(entity, shown) {
        if (entity !== 'comment') return line(entity, shown)
        const { authorId: _, authorRemoved: __, importedAuthor, author, ...comment } = shown as CommentLine
        return line(entity, { ...comment, author: authorOf({ author, importedAuthor }) })
      },
      endChildren: () => '',
      endTask: () => '',
      event: (shown) => line('event', shown),
      end: () => line('end', { lines: lines + 1 }),
    }
  },
}
type CommentLine = ShownComment & Record<'authorId' | 'authorRemoved', unknown>
