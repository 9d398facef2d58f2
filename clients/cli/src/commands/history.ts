import type { Event } from '../../../typescript/src/index.ts'
import { command, json, limitOption, project } from '../command.ts'
import { usageError } from '../failure.ts'
import { readLimit } from '../numbers.ts'
import { collect, connect } from '../service/connect.ts'
import { eventColumns, eventRows } from '../service/event-lines.ts'
import { findProject, findTask, findUser } from '../service/find.ts'
import { withoutAbsent } from '../service/task-body.ts'

const shownEvents = 50

export const history = command({
  name: 'history',
  about: 'Show past changes of a project or of one task, newest first',
  args: {
    task: { type: 'positional', required: false, description: 'The id or number of a task' },
    ...project,
    entity: {
      type: 'string',
      valueHint: 'kind or id',
      description: 'Only this kind, such as task or comment, or the row with this id',
    },
    actor: {
      type: 'string',
      valueHint: 'user',
      description: 'Only changes by this user: me, or a name, email or id',
    },
    types: {
      type: 'string',
      valueHint: 'types',
      description: 'Event types, such as task.created,task.updated',
    },
    from: { type: 'string', valueHint: 'time', description: 'Only events at or after this time' },
    to: { type: 'string', valueHint: 'time', description: 'Only events at or before this time' },
    ...limitOption('events', shownEvents),
    ...json,
  },
  examples: ['docket history', 'docket history 42', 'docket history --actor me --from 2031-05-01 --json'],
  async run(cli, { task, project, entity, actor, types, from, to, limit: given, json }) {
    const limit = readLimit(given, shownEvents)
    const docket = await connect(cli)
    if (task && (entity ?? actor ?? types ?? from ?? to) !== undefined)
      throw usageError('The history of a task has no filters: leave out the task or the filters')
    const id = task ? await findTask(cli, docket, task, project) : await findProject(cli, docket, project)
    const page = { limit: Math.min(limit, 200) }
    const filters = {
      entity,
      actor: actor === undefined ? undefined : await findUser(docket, actor, async () => id),
      type: types,
      from,
      to,
    }
    const list = task
      ? docket.tasks.history(id, page)
      : docket.project(id).history(withoutAbsent({ ...filters, ...page }))
    const events: Event[] = await collect(cli, list, 'events', limit)
    if (json) return cli.out.json(events)
    await cli.out.table(await eventRows(docket, events), eventColumns)
  },
})
