import { type BatchOptions, type BatchOutcome, type BuildBatch, sendBatch } from './batch/batch.ts'
import { Calls } from './calls/calls.ts'
import type { List } from './calls/list.ts'
import type { BodyOf, QueryOf, ResultOf, RowOf } from './calls/types.ts'
import { follow, type FollowOptions } from './feed/follow.ts'
import { Mirror } from './feed/mirror.ts'
import { type ClaimNext, claimNext, type ClaimOptions } from './work/claim-next.ts'
import { type Handler, work, type WorkOptions } from './work/work.ts'
import type { CallOptions, Transport, WriteOptions } from './transport.ts'

type Targets = Required<BodyOf<'undoProject'>>
type Undo = { [Name in keyof Targets]: Pick<Targets, Name> }[keyof Targets]
interface UndoOptions extends WriteOptions {
  /** Returns the events that the undo would write, and changes nothing. */
  dryRun?: boolean | undefined
}

/** The methods of one project. */
export class ProjectClient {
  readonly id: string
  readonly transport: Transport

  /** @throws TypeError if `id` is not an id */
  constructor(transport: Transport, id: string) {
    if (!/^[\w-]+$/.test(id)) throw new TypeError(`A project needs an id, not ${JSON.stringify(id)}`)
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
    const request = { ...options, body, query: { dryRun } }
    return (
      await this.transport.request<ResultOf<'undoProject'>>('POST', `/projects/${this.id}/undo`, request)
    ).body
  }

  /** Yields the events of the project in order, until `signal` aborts. See `FollowOptions`. */
  follow(options?: FollowOptions) {
    return follow(this.transport, this.id, options)
  }

  /** Returns a map of the tasks by id. Events update the map until `signal` aborts. */
  mirror({ signal }: { signal?: AbortSignal } = {}): Mirror {
    return new Mirror(this.transport, this.id, signal)
  }

  /** Commits the operations that `build` adds together: all of them, or none. */
  batch(build: BuildBatch, options?: BatchOptions): Promise<BatchOutcome> {
    return sendBatch(this.transport, this.id, build, options)
  }

  /** Claims the next ready task; returns undefined if no task is ready within `wait` seconds. */
  claimNext(body?: ClaimNext, options?: ClaimOptions) {
    return claimNext(this.transport, this.id, body, options)
  }

  /** Claims tasks and runs `handler` for each, until the signal aborts. See `WorkOptions`. */
  work(handler: Handler, options?: WorkOptions): Promise<void> {
    return work(this.transport, this.id, handler, options)
  }
}
