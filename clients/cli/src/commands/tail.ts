import { command, project } from '../command.ts'
import { readCount, readLimit } from '../numbers.ts'
import { connect } from '../service/connect.ts'
import { eventLine, TaskNames } from '../service/event-lines.ts'
import { findProject } from '../service/find.ts'
import { follow } from '../service/follow.ts'
import { jsonText } from '../terminal/text.ts'

export const tail = command({
  name: 'tail',
  about: 'Print the changes of a project as they happen, until Ctrl-C',
  args: {
    ...project,
    after: {
      type: 'string',
      valueHint: 'seq',
      description: 'Begin after this event; 0: with the oldest event',
    },
    types: {
      type: 'string',
      valueHint: 'types',
      description: 'Event types, such as task.created,task.updated',
    },
    limit: { type: 'string', valueHint: 'number', description: 'End after this many events' },
    json: { type: 'boolean', description: 'Print each event as one line of JSON' },
  },
  examples: ['docket tail', 'docket tail --after 0 --json', 'docket tail --types task.created --limit 1'],
  async run(cli, { project, after, types, limit: given, json }) {
    const [limit, from] = [readLimit(given), after === undefined ? undefined : readCount('after', after)]
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const names = new TaskNames(docket)
    const wanted = types?.split(',')
    // The service names a type that it does not know.
    if (types) await docket.events.list({ projectId, types, limit: 1 })
    let printed = 0
    for await (const event of follow(docket, projectId, from)) {
      if (wanted && !wanted.includes(event.type)) continue
      await cli.out.line(json ? jsonText(event) : eventLine(event, await names.of(event)))
      if (++printed >= limit) return
    }
  },
})
