import { command, project } from '../../command.ts'
import { usageError } from '../../failure.ts'
import { connect } from '../../service/connect.ts'
import { findProject } from '../../service/find.ts'
import { oneOf, withoutAbsent } from '../../service/task-body.ts'
import { download } from '../../transfer/download.ts'

const formats = ['docket', 'ndjson', 'csv'] as const

export const exportFile = command({
  name: 'export',
  about: 'Write a project to a file, as of one version; or all projects to an archive',
  details:
    'The format docket is complete; ndjson has a task for each line, csv has a task for each row. docket import reads docket and csv.',
  args: {
    ...project,
    format: { type: 'string', valueHint: formats.join('|'), description: 'The format, by default docket' },
    'as-of': {
      type: 'string',
      valueHint: 'version or time',
      description: 'Write the project as it was at this version or time',
    },
    history: { type: 'boolean', description: 'Add all events; only with the format docket' },
    all: {
      type: 'boolean',
      description:
        'Write all data of the user: a .tar.gz archive with a file in the format docket for each project',
    },
    output: {
      type: 'string',
      alias: 'o',
      valueHint: 'file',
      description: 'Write to this file, which appears when it is complete; by default to standard output',
    },
  },
  examples: [
    'docket export --project Engine --output engine.docket',
    'docket export --project Engine --format csv --as-of 2031-05-01 > engine.csv',
    'docket export --all -o projects.tar.gz',
  ],
  async run(cli, { project, format: given, 'as-of': asOf, history, all, output }) {
    const format = oneOf('format', given, formats)
    if (all && (project ?? given ?? asOf ?? history) !== undefined)
      throw usageError('--all accepts only --output: it writes all projects in the format docket')
    if (all && !output && cli.out.isTerminal)
      throw usageError('--all writes an archive: pass a file to --output, such as projects.tar.gz')
    const docket = await connect(cli)
    const projectId = all ? '' : await findProject(cli, docket, project)
    const query = withoutAbsent({ format, asOf, history: history || undefined })
    const open = (signal: AbortSignal) =>
      all ? docket.account.export({ signal }) : docket.projects.export({ projectId, ...query, signal })
    await download(cli, open, output)
  },
})
