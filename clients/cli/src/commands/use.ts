import { command } from '../command.ts'
import { exitCodes, Failure } from '../failure.ts'
import { connect } from '../service/connect.ts'
import { findProject } from '../service/find.ts'
import { readSession, readStored, writeStored } from '../service/session.ts'
import { printable } from '../terminal/text.ts'

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
