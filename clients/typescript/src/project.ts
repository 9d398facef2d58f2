import { Calls } from './calls/calls.ts'
import type { List } from './calls/list.ts'
import type { BodyOf, QueryOf, ResultOf, RowOf } from './calls/types.ts'
import type { CallOptions, Transport, WriteOptions } from './transport.ts'

type Undo = BodyOf<'undoProject'>
interface UndoOptions extends WriteOptions {
  /** Returns the events that the undo would have, and changes nothing. */
  dryRun?: boolean | undefined
}

/** One project: its changes and their undo. */
export class ProjectClient {
  readonly id: string
  readonly transport: Transport

  constructor(transport: Transport, id: string) {
    this.id = id
    this.transport = transport
  }

  /** Reads past events, newest first. */
  history(
    filters: QueryOf<'listProjectHistory'> = {},
    options?: CallOptions,
  ): List<RowOf<'listProjectHistory'>> {
    const calls = new Calls(this.transport)
    return calls.listById('listProjectHistory', 'GET /projects/{id}/history')(this.id, filters, options)
  }

  /** Undoes an event, several events, or all events of a batch: `{ seq }`, `{ seqs }` or `{ batch }`. */
  async undo(body: Undo, { dryRun, ...options }: UndoOptions = {}): Promise<ResultOf<'undoProject'>> {
    const path = `/projects/${encodeURIComponent(this.id)}/undo`
    const request = { ...options, body, query: { dryRun } }
    return (await this.transport.request<ResultOf<'undoProject'>>('POST', path, request)).body
  }
}
