import { command, project } from '../command.ts'
import { readCount, readLimit } from '../numbers.ts'
import { connect } from '../service/connect.ts'
import { eventLine, TaskNames } from '../service/event-lines.ts'
import { findProject } from '../service/find.ts'
import { withoutAbsent } from '../service/task-body.ts'
import { jsonText } from '../terminal/text.ts'

export const tail = command({
  name: 'tail',
  about: 'Print the changes of a project as they happen, until Ctrl-C',
  args: {
    ...project,
    after: {
      type: 'string',
      valueHint: 'seq',
      description: 'Begin after the event with this seq; 0: with the oldest event',
    },
    types: {
      type: 'string',
      valueHint: 'types',
      description: 'Event types, such as task.created,task.updated',
    },
    'except-actor': {
      type: 'string',
      valueHint: 'id',
      description: 'Leave out the changes of this account: its id, or me',
    },
    limit: { type: 'string', valueHint: 'number', description: 'End after this many events' },
    json: { type: 'boolean', description: 'Print each event as one line of JSON' },
  },
  details: `If the service has deleted the next events, --json prints a snapshot of all tasks: a line with "type":"snapshot".`,
  examples: [
    'docket tail',
    'docket tail --after 0 --json',
    'docket tail --types task.created --limit 1',
    'docket tail --except-actor me',
  ],
  async run(cli, { project, after, types, 'except-actor': exceptActor, limit: given, json }) {
    const [limit, from] = [readLimit(given), after === undefined ? undefined : readCount('after', after)]
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    // This request reports a wrong option or a failed connection, because `follow` would retry for ever.
    const query = withoutAbsent({ after: from, types, exceptActor })
    await docket.events.list({ projectId, limit: 1, ...query })
    const names = new TaskNames(docket)
    const wanted = types?.split(',')
    let printed = 0
    for await (const item of docket.project(projectId).follow(withoutAbsent({ after: from, exceptActor }))) {
      if (item.type === 'snapshot') {
        await cli.err.line(`The service has deleted the next events: continuing after event ${item.seq}`)
        if (json) await cli.out.line(jsonText(item))
        continue
      }
      if (wanted && !wanted.includes(item.type)) continue
      await cli.out.line(json ? jsonText(item) : eventLine(item, await names.of(item)))
      if (++printed >= limit) return
    }
  },
})
