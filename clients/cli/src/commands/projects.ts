import { command, json, key } from '../command.ts'
import { collect, connect } from '../service/connect.ts'
import { projectIfGiven } from '../service/find.ts'
import { printable } from '../terminal/text.ts'

export const projects = command({
  name: 'projects',
  about: 'List the projects, or create one',
  args: {
    create: { type: 'string', valueHint: 'name', description: 'Create a project with this name' },
    ...key,
    ...json,
  },
  examples: ['docket projects', 'docket projects --create Engine', 'docket projects --json'],
  async run(cli, { create: name, key, json }) {
    const docket = await connect(cli)
    if (name !== undefined) {
      const made = await docket.projects.create({ name }, { idempotencyKey: key })
      if (json) return cli.out.json(made)
      return cli.out.line(`Created ${printable(made.name)} (${made.id})`)
    }
    const rows = await collect(cli, docket.projects.list(), 'projects')
    if (json) return cli.out.json(rows)
    const current = await projectIfGiven(cli, docket).catch(() => undefined)
    await cli.out.table(rows, [
      { title: 'DEFAULT', value: ({ id }) => (id === current ? '*' : '') },
      { title: 'NAME', value: (row) => row.name, isFlexible: true },
      { title: 'OWNER', value: ({ owner }) => owner?.name, isFlexible: true },
      { title: 'ID', value: ({ id }) => id },
    ])
    if (rows.length === 0) await cli.err.line('No projects')
  },
})
