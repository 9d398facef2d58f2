import { command, json, key, limitOption, project } from '../../command.ts'
import { readLimit } from '../../numbers.ts'
import { connect, writeOptions } from '../../service/connect.ts'
import { findProject } from '../../service/find.ts'
import { oneOf } from '../../service/task-body.ts'
import { sizeText, withStatus } from '../../terminal/progress.ts'
import { readImported, readMapping, guessedSource, sources } from '../../transfer/source.ts'
import { printImport, shownLines } from '../../transfer/print-import.ts'
import { importEnded } from '../../transfer/wait.ts'

export const importFile = command({
  name: 'import',
  about: 'Import tasks from a file of another system, or of docket export',
  details:
    'A second import of the same file changes only the differences. docket imports shows, cancels and undoes imports.',
  args: {
    file: {
      type: 'positional',
      valueHint: 'file',
      description: 'The file, which may be compressed with gzip; - reads standard input',
    },
    ...project,
    source: {
      type: 'string',
      valueHint: sources.join('|'),
      description: 'The system that wrote the file; not needed for files of docket export',
    },
    'dry-run': {
      type: 'boolean',
      description: 'Change nothing. Print the report, and the mapping that the import would use as JSON',
    },
    mapping: {
      type: 'string',
      valueHint: 'file or JSON',
      description:
        'How the file becomes tasks: a JSON object, or a file with it, such as the mapping of a dry run',
    },
    'no-wait': { type: 'boolean', description: 'Do not wait for the end of the import' },
    ...limitOption('lines of the report', shownLines),
    ...key,
    ...json,
  },
  examples: [
    'docket import issues.csv --source jira --project Engine --dry-run > mapping.json',
    'docket import issues.csv --source jira --project Engine --mapping mapping.json',
    'docket import engine.docket',
    'curl https://example.com/board.json | docket import - --source trello --no-wait',
  ],
  async run(cli, { file, project, source: given, 'dry-run': dryRun, mapping, 'no-wait': noWait, ...args }) {
    const [wanted, limit] = [oneOf('source', given, sources), readLimit(args.limit, shownLines)]
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const content = await readImported(cli, file)
    const source = wanted ?? (await guessedSource(content))
    const input = { projectId, source, dryRun, mapping: await readMapping(mapping) }
    const started = await withStatus(cli.err, (show) => {
      show(`sending ${sizeText(content.size)}`)
      return docket.imports.create(content, input, writeOptions(cli, { key: args.key }, { projectId }))
    })
    if (!noWait)
      return printImport(cli, docket, await importEnded(cli, docket, started.id), {
        json: args.json,
        limit,
        isAwaited: true,
      })
    if (args.json) return cli.out.json(started)
    await cli.out.line(`Started import ${started.id}`)
  },
})
