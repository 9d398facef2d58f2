import { readInput } from '../cli.ts'
import { command, json, key, project } from '../command.ts'
import { connect, writeOptions } from '../service/connect.ts'
import { findTask } from '../service/find.ts'
import { printable } from '../terminal/text.ts'

const task = { type: 'positional', description: 'The id or number of the task' } as const
const text = { type: 'positional', description: 'The text; - reads standard input' } as const

export const append = command({
  name: 'append',
  about: 'Add a text to the description of a task',
  args: { task, text, ...project, ...key, ...json },
  examples: ['docket append 42 "In brass, please."', 'git log -1 | docket append 42 -'],
  async run(cli, { task, text: given, project, key, json }) {
    const docket = await connect(cli)
    const id = await findTask(cli, docket, task, project)
    const body = { field: 'description', text: given === '-' ? await readInput(cli) : given } as const
    const changed = await docket.tasks.append(id, body, writeOptions(cli, { key }, { taskId: id }))
    if (json) return cli.out.json(changed)
    await cli.out.line(`Changed #${changed.number} ${printable(changed.title)}`)
  },
})

export const comment = command({
  name: 'comment',
  about: 'Add a comment to a task',
  args: { task, text, ...project, ...key, ...json },
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
