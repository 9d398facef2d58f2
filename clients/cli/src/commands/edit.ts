import { command, json, key, project } from '../command.ts'
import { usageError } from '../failure.ts'
import { connect, writeOptions, keyOf } from '../service/connect.ts'
import { findLabels, findProject, findTask } from '../service/find.ts'
import { taskArguments, taskBody, tasksIn, withoutAbsent } from '../service/task-body.ts'
import { printable } from '../terminal/text.ts'
import type { Task } from '../../../typescript/src/index.ts'

const labels = { type: 'string', valueHint: 'labels' } as const
const tasks = { type: 'string', valueHint: 'tasks' } as const

export const edit = command({
  name: 'edit',
  about: 'Change a task; an empty value clears a field',
  args: {
    task: { type: 'positional', description: 'The id or number of the task' },
    ...project,
    title: { type: 'string', description: 'The title' },
    ...taskArguments,
    'add-labels': { ...labels, description: 'Add these labels' },
    'remove-labels': { ...labels, description: 'Remove these labels' },
    'add-blocked-by': { ...tasks, description: 'Add these blockers' },
    'remove-blocked-by': { ...tasks, description: 'Remove these blockers' },
    'reset-attempts': { type: 'boolean', description: 'Set the number of failed attempts to 0' },
    'move-to': { type: 'string', valueHint: 'project', description: 'Move the task to this project' },
    'if-match': { type: 'string', valueHint: 'etag', description: 'Fail if the task has another ETag' },
    ...key,
    ...json,
  },
  examples: [
    'docket edit 42 --status in-progress --assignee me',
    "docket edit '#42' --due '' --add-labels urgent",
    'docket edit 42 --move-to Archive',
  ],
  async run(cli, { task: text, project, key, json, ...args }) {
    const docket = await connect(cli)
    const id = await findTask(cli, docket, text, project)
    let found: Promise<string> | undefined
    const projectOf = () => (found ??= docket.tasks.get(id).then(({ projectId }) => projectId))
    const find = { cli, docket, projectOf }
    const labelsIn = (option: 'add-labels' | 'remove-labels') => {
      const text = args[option]
      return text === undefined ? undefined : findLabels(docket, text, projectOf)
    }
    const blockersIn = (option: 'add-blocked-by' | 'remove-blocked-by') => {
      const text = args[option]
      return text === undefined ? undefined : tasksIn(find, text)
    }
    const body = withoutAbsent({
      ...(await taskBody(find, args)),
      title: args.title,
      attempts: args['reset-attempts'] ? 0 : undefined,
      projectId: args['move-to'] ? await findProject(cli, docket, args['move-to']) : undefined,
      addLabelIds: await labelsIn('add-labels'),
      removeLabelIds: await labelsIn('remove-labels'),
      addBlockedByIds: await blockersIn('add-blocked-by'),
      removeBlockedByIds: await blockersIn('remove-blocked-by'),
    })
    if (Object.keys(body).length === 0)
      throw usageError('edit needs at least one option that changes the task')
    const options = { ...writeOptions(cli, { key }, { taskId: id }), ifMatch: args['if-match'] }
    const task = await docket.tasks.update(id, body, options)
    if (json) return cli.out.json(task)
    await cli.out.line(`Changed #${task.number} ${printable(task.title)}`)
  },
})

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
