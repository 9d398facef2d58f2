import type { SearchHit } from '../../../typescript/src/index.ts'
import { command, json, limitOption, project } from '../command.ts'
import { readLimit } from '../numbers.ts'
import { collect, connect } from '../service/connect.ts'
import { projectIfGiven } from '../service/find.ts'
import { withoutAbsent } from '../service/task-body.ts'

const shownHits = 50
const pageLimit = 200

export const search = command({
  name: 'search',
  about: 'Find tasks, comments and projects by their words',
  details:
    'Every word must match; the last may be incomplete. "A phrase" in double quotes matches exactly, -word excludes, #42 is the number of a task. A full id or an external id also matches. Without a project, docket searches all projects.',
  args: {
    words: {
      type: 'positional',
      required: true,
      description: 'The words, phrases, numbers and ids to search for',
    },
    ...project,
    all: { type: 'boolean', description: 'Search all projects, even if there is a default project' },
    types: { type: 'string', valueHint: 'types', description: 'Only these: task,comment,project' },
    ...limitOption('hits', shownHits),
    ...json,
  },
  rest: 'WORD',
  examples: [
    'docket search oil whee',
    `docket search '"oil the wheels" -brass'`,
    'docket search --types task --all axis',
  ],
  async run(cli, { project, all, types, limit: given, json, _: words }) {
    const limit = readLimit(given, shownHits)
    const docket = await connect(cli)
    const projectId = all && !project ? undefined : await projectIfGiven(cli, docket, project)
    const filters = withoutAbsent({ types, projectId, limit: Math.min(limit, pageLimit) })
    const list = docket.search({ q: words.join(' '), ...filters })
    const hits: SearchHit[] = await collect(cli, list, 'hits', limit)
    if (json) return cli.out.json(hits)
    if (hits.length === 0) return cli.err.line('No hits')
    if (hits[0]!.fuzzy) await cli.err.line('Nothing contains all words. Similar titles:')
    const projects = projectId ? [] : await docket.projects.list().all()
    const names = new Map(projects.map(({ id, name }) => [id, name]))
    await cli.out.table(hits, [
      { title: 'TYPE', value: ({ type }) => type },
      { title: 'ID', value: ({ id, taskId }) => taskId ?? id },
      { title: 'PROJECT', value: (hit) => names.get(hit.projectId), isFlexible: true },
      { title: 'TITLE', value: ({ title }) => title, isFlexible: true },
      {
        title: 'TEXT',
        value: ({ title, snippet }) => (snippet.text === title ? '' : snippet.text),
        isFlexible: true,
      },
    ])
  },
})
