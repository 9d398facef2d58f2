import { hasStatus } from '../feed/attempts.ts'
import { sleep } from '../retries.ts'
import type { BodyOf } from '../calls/types.ts'
import type { Task } from '../schemas.ts'
import type { Transport, WriteOptions } from '../transport.ts'

/** The reason of a handler's signal when its claim is lost. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError'
}

/** True if the claim has ended: 412, or 404 if the caller cannot read the task any more. */
const isEnded = (error: unknown) => hasStatus(error, 404, 412)
/** Extends a claim after a third of its lease, so that retries have two thirds of the lease. */
const extensionsPerLease = 3

const maxReasonCharacters = 2_000

/** The body of a release after an error. The service does not store U+0000 and lone surrogates. */
export function failureOf(error: unknown): BodyOf<'releaseTask'> {
  const text = String(error instanceof Error ? error.message || error.name : error)
  const storable = text.slice(0, 2 * maxReasonCharacters).replace(/[\0\p{Surrogate}]/gu, '')
  return { failed: true, reason: [...storable].slice(0, maxReasonCharacters).join('') }
}

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

  /** Aborts if the claim has ended, but the task is neither DONE nor deleted. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Sets the task to DONE, which ends the claim. Changes nothing if the claim has already ended. */
  async complete(): Promise<void> {
    await this.#end('PATCH', '', { status: 'DONE' }).catch((error: unknown) =>
      isEnded(error) ? this.#lose(error) : Promise.reject(error),
    )
  }

  /** Ends the claim, so that another worker can claim the task. Changes nothing if the claim has already ended. */
  async release(failure?: BodyOf<'releaseTask'>): Promise<void> {
    await this.#end('POST', '/release', failure).catch((error: unknown) => {
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

  /** True if the task is DONE or deleted: both end the claim. */
  async #isDone(): Promise<boolean> {
    try {
      const { body } = await this.#transport.request<Task>('GET', `/tasks/${this.#task.id}`)
      return body.status === 'DONE'
    } catch (error) {
      return hasStatus(error, 404)
    }
  }

  /** Sends a write that fails if the claim has ended, so that the write never changes the task of another worker. */
  async #write(method: string, path: string, body: object | undefined, options: WriteOptions): Promise<void> {
    const url = `/tasks/${this.#task.id}${path}`
    await this.#transport.request(method, url, { ...options, ...(body && { body }), ifClaim: this.#task })
  }
}
