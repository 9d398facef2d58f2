import type { Author, Format, Writer } from './format.ts'

/** The number in the first line. It changes when files can no longer be read by the reader of an earlier release. */
export const docketFormat = 1

/** Everything in a project: a line for each row, as its view shows it. */
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
    const withAddress = (author: Author | null) => (author && people.get(author.id)) ?? author
    return {
      begin() {
        lines++
        const head = `${JSON.stringify({ docket: docketFormat, project, version, exportedAt })}\n`
        return head + parts.map(({ name, shown }) => line(name, shown)).join('')
      },
      task({ shown, author }) {
        const names = shown.labelIds.map((id) => labels.get(id))
        const assignee = people.get(shown.assigneeId ?? '') ?? null
        return line('task', { ...shown, labels: names, assignee, author: withAddress(author) })
      },
      beginChildren: () => '',
      child: (entity, shown) =>
        line(
          entity,
          'author' in shown ? { ...shown, author: withAddress(shown.author as Author | null) } : shown,
        ),
      endChildren: () => '',
      endTask: () => '',
      event: (shown) => line('event', shown),
      end: () => line('end', { lines: lines + 1 }),
    }
  },
}
