import { command, json, key } from '../command.ts'
import { collect, connect } from '../service/connect.ts'
import { projectIfGiven, findProject } from '../service/find.ts'
import { printable } from '../terminal/text.ts'
import { exitCodes, Failure } from '../failure.ts'
import { readSession, readStored, writeStored } from '../service/session.ts'

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

export const use = command({
  name: 'use',
  about: 'Store the default project',
  args: { project: { type: 'positional', valueHint: 'id or name', description: 'The project' } },
  examples: ['docket use Engine'],
  async run(cli, { project: given }) {
    const docket = await connect(cli)
    const { id, name } = await docket.projects.get(await findProject(cli, docket, given))
    const stored = await readStored(cli.env)
    if (stored.url !== (await readSession(cli.env)).url)
      throw new Failure(
        'DOCKET_URL is not the stored address: run docket login first, or set DOCKET_PROJECT',
        exitCodes.notAllowed,
      )
    await writeStored(cli.env, { ...stored, project: id })
    await cli.out.line(`The default project is ${printable(name)}`)
  },
})
