import { readInput } from '../cli.ts'
import { command, json, key, project } from '../command.ts'
import { connect, writeOptions } from '../service/connect.ts'
import { findTask } from '../service/find.ts'

export const comment = command({
  name: 'comment',
  about: 'Add a comment to a task',
  args: {
    task: { type: 'positional', description: 'The id or number of the task' },
    text: { type: 'positional', description: 'The text; - reads standard input' },
    ...project,
    ...key,
    ...json,
  },
  examples: ['docket comment 42 "In brass, please."', 'git log -1 | docket comment 42 -'],
  async run(cli, { task, text: given, project, key, json }) {
    const docket = await connect(cli)
    const taskId = await findTask(cli, docket, task, project)
    const text = given === '-' ? await readInput(cli) : given
    const made = await docket.comments.create({ taskId, text }, writeOptions(cli, { key }, { taskId }))
    if (json) return cli.out.json(made)
    await cli.out.line(`Commented on ${task} (${made.id})`)
  },
})
