import type { Task } from '../../../typescript/src/index.ts'
import { command, json, key, project } from '../command.ts'
import { connect, keyOf, writeOptions } from '../service/connect.ts'
import { findTask } from '../service/find.ts'
import { printable } from '../terminal/text.ts'

export const done = command({
  name: 'done',
  about: 'Set the status of tasks to DONE, one after another',
  args: {
    task: { type: 'positional', description: 'The id or number of a task' },
    ...project,
    ...key,
    ...json,
  },
  rest: 'TASK',
  examples: ['docket done 42', 'docket done 42 43 --project Engine'],
  async run(cli, { _: texts, project, key, json }) {
    const docket = await connect(cli)
    const ids: string[] = []
    for (const text of texts) ids.push(await findTask(cli, docket, text, project))
    const tasks: Task[] = []
    for (const [index, taskId] of ids.entries()) {
      const options = writeOptions(cli, { key: keyOf(key, index) }, { taskId })
      const task = await docket.tasks.update(taskId, { status: 'DONE' }, options)
      tasks.push(task)
      if (!json) await cli.out.line(`Done #${task.number} ${printable(task.title)}`)
    }
    if (json) return cli.out.json(tasks.length === 1 ? tasks[0] : tasks)
  },
})
