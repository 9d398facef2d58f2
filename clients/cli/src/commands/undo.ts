import { type Docket, type Event, KeyReusedError } from '../../../typescript/src/index.ts'
import { command, json, key, project } from '../command.ts'
import { notFound, usageError } from '../failure.ts'
import { readCount } from '../numbers.ts'
import { connect, writeOptions } from '../service/connect.ts'
import { eventColumns, eventRows } from '../service/event-lines.ts'
import { findProject } from '../service/find.ts'

/** A repeat of `docket undo --key` looks for the first undo in this many changes of the caller. */
const maxSearchedChanges = 50

export const undo = command({
  name: 'undo',
  about: "Undo an event or a batch; by default the caller's last change",
  args: {
    ...project,
    seq: { type: 'string', valueHint: 'number', description: 'Undo the event with this seq' },
    batch: {
      type: 'string',
      valueHint: 'number',
      description: 'Undo the batch whose first event has this seq; docket batch prints the seq',
    },
    'dry-run': { type: 'boolean', description: 'Show what an undo would change, and change nothing' },
    ...key,
    ...json,
  },
  examples: ['docket undo --dry-run', 'docket undo --seq 41', 'docket undo --batch 37 --project Engine'],
  async run(cli, { project, seq, batch, 'dry-run': dryRun, key, json }) {
    if (seq !== undefined && batch !== undefined)
      throw usageError('undo accepts --seq or --batch, but not both')
    const given = seq ? { seq: readCount('seq', seq, 1) } : batch && { batch: readCount('batch', batch, 1) }
    const docket = await connect(cli)
    const projectId = await findProject(cli, docket, project)
    const options = { ...writeOptions(cli, { key }, { projectId }), dryRun }
    const first = given || (await lastChange(docket, projectId))
    const send = async (body: Change) => ({
      body,
      undone: await docket.project(projectId).undo(body, options),
    })
    const { body, undone } = await send(first).catch((error: unknown) => {
      if (given || !(error instanceof KeyReusedError)) throw error
      return repeat(docket, projectId, send, error)
    })
    if (json) return cli.out.json(undone)
    await cli.out.table(await eventRows(docket, undone.changes), eventColumns)
    const what = 'seq' in body ? `event ${body.seq}` : `batch ${body.batch}`
    await cli.err.line(
      dryRun ? `Undo of ${what}: nothing has changed` : `Undid ${what}: version ${undone.version}`,
    )
  },
})

type Change = { seq: number } | { batch: number }

const changeOf = ({ seq, batch }: Event): Change => (batch === null ? { seq } : { batch })

/** Returns the caller's newest change. An undo is also a change, so a second undo reverses the first undo. */
async function lastChange(docket: Docket, projectId: string): Promise<Change> {
  const [event] = await changesOfCaller(docket, projectId, 1)
  if (!event) throw notFound('You have changed nothing in this project')
  return changeOf(event)
}

async function changesOfCaller(docket: Docket, projectId: string, limit: number): Promise<Event[]> {
  const { id: actor } = await docket.account.get()
  return docket.project(projectId).history({ actor, limit })
}

/**
 * Repeats an undo without --seq and --batch whose key was used before. After the first undo, the last change is this undo, so
 * the function sends earlier changes. The service accepts a key only for the same request, so it repeats no other undo.
 * @throws `error` if the undo with this key is not among the caller's newest changes
 */
async function repeat<Result>(
  docket: Docket,
  projectId: string,
  send: (change: Change) => Promise<Result>,
  error: KeyReusedError,
): Promise<Result> {
  const undone = (await changesOfCaller(docket, projectId, maxSearchedChanges)).flatMap(
    ({ undoes }) => undoes ?? [],
  )
  for (const seq of undone) {
    const [event] = await docket.events.list({ projectId, after: seq - 1, limit: 1 })
    try {
      if (event) return await send(changeOf(event))
    } catch (failure) {
      if (!(failure instanceof KeyReusedError)) throw failure
    }
  }
  throw error
}
