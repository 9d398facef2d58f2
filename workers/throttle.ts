import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../src/config.ts'
import type { Log } from '../src/logger.ts'
import type { Sql, SqlPart } from '../src/postgres/database.ts'
import { errorCode } from '../src/postgres/errors.ts'
import { type ErrorStatus, HttpError } from '../src/responses/errors.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, throttle } from '../src/waits.ts'

export interface Throttle {
  batchRows: number
  /** The shortest pause after a statement. */
  pauseMs: number
  /** The length of a pause as a multiple of the duration of the statement before it. Default: 1. */
  pauses?(): number
  /** True when the job has run for `jobSliceMs`, or when the worker stops. */
  isOver?(): boolean
  isStopping?(): boolean
}

/** The job continues in its next slice. */
export class SliceEnded extends Error {
  /** @param delayMs the least time until the next slice @param reason the error that ended the slice */
  constructor(
    readonly delayMs = 0,
    readonly reason?: string,
  ) {
    super()
  }
}

export function beginSlice(config: Config, isStopping: () => boolean): Throttle {
  const endsAt = performance.now() + config.jobSliceMs
  return {
    batchRows: config.jobBatchRows,
    pauseMs: config.jobPauseMs,
    isStopping,
    isOver: () => isStopping() || performance.now() > endsAt,
  }
}

export const whilePagesAreFull = (throttle: Throttle, work: () => Promise<number>): Promise<void> =>
  forEachPage(throttle, true, async () => (await work()) === throttle.batchRows || undefined)

/**
 * Deletes rows of a table. The deletion checks the condition again, because a row may be restored while the deletion waits
 * for a lock. Another page follows a full page, and a page with rows that were not deleted: a row that changes moves.
 */
export const purgeRows = (sql: Sql, table: string, where: SqlPart, throttle: Throttle): Promise<void> =>
  whilePagesAreFull(throttle, async () => {
    const name = sql(table)
    // With `is true`, no index serves the condition: for a young project, Postgres would read all its rows for each page.
    const [row] = await sql<{ found: number; deleted: number }[]>`
      with found as materialized (select ctid from ${name} where ${where} limit ${throttle.batchRows}),
      deleted as (delete from ${name} where ctid = any(array(select ctid from found)) and (${where}) is true returning 1)
      select count(*)::int4 as found, (select count(*) from deleted)::int4 as deleted from found`
    return row!.deleted < row!.found ? throttle.batchRows : row!.found
  })

/** `work` gets the last key of the previous page. It returns the last key of its page, or undefined at the end. */
export async function forEachPage<K>(
  throttle: Throttle,
  start: K,
  work: (after: K) => Promise<K | undefined>,
): Promise<void> {
  for (let after: K | undefined = start; after !== undefined;) {
    const startedAt = performance.now()
    after = await work(after)
    if (after === undefined) return
    if (throttle.isOver?.()) throw new SliceEnded()
    const pauses = throttle.pauses?.() ?? 1
    await sleep(Math.max(throttle.pauseMs, (performance.now() - startedAt) * pauses))
  }
}

const maxCharacters = 500

/** Formats an error as one short line, without the values that Postgres rejected (SQLSTATE 22…). */
export function reasonOf(error: unknown): string {
  const code = errorCode(error)
  const message = error instanceof Error ? error.message || error.name : String(error)
  const safe = code.startsWith('22') ? message.replace(/".*"/s, '"…"') : message
  const line = `${code && `${code}: `}${safe}`.replace(/[\s\0]+/g, ' ').trim()
  return line.slice(0, maxCharacters).toWellFormed()
}

export type Loops = ReturnType<typeof openLoops>

/** Repeated work that ends together. `stop` ends the loops, and then calls the functions of `onStop`. */
export function openLoops({ config, log }: Pick<Services, 'config' | 'log'>) {
  let hasStopped = false
  const [stops, drains]: [(() => Promise<void>)[], (() => unknown)[]] = [[], []]
  const isStopping = () => hasStopped
  return {
    isStopping,
    pages: { batchRows: config.jobBatchRows, pauseMs: config.jobPauseMs, isOver: isStopping },
    every: (ms: number, work: () => Promise<unknown>) => void stops.push(repeatedly(work, ms, log)),
    onStop: (drain: () => unknown) => void drains.push(drain),
    async stop(): Promise<void> {
      hasStopped = true
      await Promise.all(stops.map((stop) => stop()))
      await Promise.all(drains.map((drain) => drain()))
    },
  }
}

/** Returns a function that logs an error, at most once a minute. */
export const warnRarely = (log: Log, message: string, fields = {}) =>
  throttle(60_000, (error: unknown) => log.warn({ ...fields, reason: reasonOf(error) }, message))

export const ignoreStatus = (status: ErrorStatus) => (error: unknown) => {
  if (!(error instanceof HttpError) || error.status !== status) throw error
}
