import { hasStatus } from '../feed/attempts.ts'
import { sleep } from '../retries.ts'
import type { Task } from '../schemas.ts'
import type { Transport, WriteOptions } from '../transport.ts'

/** The reason of a handler's signal when its claim is lost. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError'
}

/** The answers to a write under a claim that has ended: the task was released, DONE, deleted or moved. */
const isEnded = (error: unknown) => hasStatus(error, 404, 412)
/** The extensions of a lease: two of them may fail. */
const extensionsPerLease = 3

/** A claim that the worker extends until it ends. */
export class ClaimedTask {
  readonly #transport: Transport
  readonly #task: Task
  readonly #leaseMs: number
  readonly #lost = new AbortController()
  readonly #stopped = new AbortController()
  readonly #extending: Promise<void>

  constructor(transport: Transport, task: Task, leaseMs: number) {
    this.#transport = transport
    this.#task = task
    this.#leaseMs = leaseMs
    this.#extending = this.#extend()
  }

  /** Aborts if the claim has ended although the task is not DONE and not deleted. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Sets the task DONE, which ends the claim. Changes nothing if the claim has ended before. */
  async complete(): Promise<void> {
    await this.#end('PATCH', '', { status: 'DONE' }).catch((error: unknown) =>
      isEnded(error) ? this.#lose(error) : Promise.reject(error),
    )
  }

  /** Lets another worker claim the task. Changes nothing if the claim has ended before. */
  async release(): Promise<void> {
    await this.#end('POST', '/release').catch((error: unknown) => {
      if (!isEnded(error)) throw error
    })
  }

  async #end(method: string, path: string, body?: object): Promise<void> {
    this.#stopped.abort()
    await this.#extending
    if (!this.#lost.signal.aborted) await this.#write(method, path, body, { deadlineMs: this.#leaseMs })
  }

  async #extend(): Promise<void> {
    let endsAt = performance.now() + this.#leaseMs
    const pauseMs = this.#leaseMs / extensionsPerLease
    const { signal } = this.#stopped
    try {
      for (;;) {
        await sleep(pauseMs, signal)
        const sentAt = performance.now()
        const body = { leaseSeconds: this.#leaseMs / 1_000 }
        await this.#write('POST', '/claim', body, { deadlineMs: endsAt - sentAt, signal })
        endsAt = sentAt + this.#leaseMs
      }
    } catch (error) {
      if (!signal.aborted) await this.#lose(error)
    }
  }

  async #lose(cause: unknown): Promise<void> {
    if (isEnded(cause) && (await this.#isDone())) return
    this.#lost.abort(new ClaimLostError('The claim on the task has ended', { cause }))
  }

  /** True if the task is DONE or deleted: then the handler has ended the claim itself. */
  async #isDone(): Promise<boolean> {
    try {
      const { body } = await this.#transport.request<Task>('GET', `/tasks/${this.#task.id}`)
      return body.status === 'DONE'
    } catch (error) {
      return hasStatus(error, 404)
    }
  }

  /** Every write requires that the claim has not ended, so it never disturbs another worker. */
  async #write(method: string, path: string, body: object | undefined, options: WriteOptions): Promise<void> {
    const url = `/tasks/${this.#task.id}${path}`
    await this.#transport.request(method, url, { ...options, ...(body && { body }), ifClaim: this.#task })
  }
}
