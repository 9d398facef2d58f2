import { command, json, key, project } from '../command.ts'
import { connect, writeOptions } from '../service/connect.ts'
import { findProject } from '../service/find.ts'
import { taskArguments, taskBody } from '../service/task-body.ts'
import { printable } from '../terminal/text.ts'

export const add = command({
  name: 'add',
  about: 'Create a task',
  args: {
    title: { type: 'positional', description: 'The title' },
    ...project,
    ...taskArguments,
    ...key,
    ...json,
  },
  examples: [
    'docket add "Draw the plate" --priority high --due 2031-05-01',
    'docket add "Oil the wheels" --project Engine --labels bug,urgent --assignee me',
    'docket add "Cast the frame" --description - < frame.md',
  ],
  async run(cli, { title, project, key, json, ...args }) {
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const body = await taskBody({ cli, docket, projectOf: async () => projectId }, args)
    const task = await docket.tasks.create(
      { projectId, title, ...body },
      writeOptions(cli, { key }, { projectId }),
    )
    if (json) return cli.out.json(task)
    await cli.out.line(`Added #${task.number} ${printable(task.title)} (${task.id})`)
  },
})
