import type { Docket, Event } from '../../../typescript/src/index.ts'
import { command, json, key, project } from '../command.ts'
import { notFound, usageError } from '../failure.ts'
import { readCount } from '../numbers.ts'
import { connect, writeOptions } from '../service/connect.ts'
import { eventColumns, eventRows } from '../service/event-lines.ts'
import { findProject } from '../service/find.ts'

export const undo = command({
  name: 'undo',
  about: "Undo an event or a batch; by default the caller's last change",
  args: {
    ...project,
    seq: { type: 'string', valueHint: 'number', description: 'Undo the event with this seq' },
    batch: {
      type: 'string',
      valueHint: 'number',
      description: 'Undo the batch whose first event has this seq',
    },
    'dry-run': { type: 'boolean', description: 'Show the changes, and change nothing' },
    ...key,
    ...json,
  },
  examples: ['docket undo --dry-run', 'docket undo --seq 41', 'docket undo --batch 37 --project Engine'],
  async run(cli, { project, seq, batch, 'dry-run': dryRun, key, json }) {
    if (seq !== undefined && batch !== undefined) throw usageError('undo takes either --seq or --batch')
    const given = seq ? { seq: readCount('seq', seq, 1) } : batch && { batch: readCount('batch', batch, 1) }
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const body = given || (await lastChange(docket, projectId))
    const options = { ...writeOptions(cli, { key }, { projectId }), dryRun }
    const undone = await docket.project(projectId).undo(body, options)
    if (json) return cli.out.json(undone)
    await cli.out.table(await eventRows(docket, undone.changes), eventColumns)
    const what = 'seq' in body ? `event ${body.seq}` : `batch ${body.batch}`
    await cli.err.line(
      dryRun ? `Undo of ${what}: nothing has changed` : `Undid ${what}: version ${undone.version}`,
    )
  },
})

/** Returns the caller's newest change. An undo is a change too, so that a second undo restores the first change. */
async function lastChange(docket: Docket, projectId: string): Promise<{ seq: number } | { batch: number }> {
  const actor = (await docket.account.get()).id
  const events: AsyncIterable<Event> = docket.project(projectId).history({ actor, limit: 1 })
  for await (const { seq, batch } of events) return batch === null ? { seq } : { batch }
  throw notFound('You have changed nothing in this project')
}
