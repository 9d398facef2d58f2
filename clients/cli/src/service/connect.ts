import { Docket } from '../../../typescript/src/index.ts'
import { retriedStatuses } from '../../../typescript/src/retries.ts'
import type { Cli } from '../cli.ts'
import { withProgress } from '../terminal/progress.ts'
import { proxyOf } from './proxy.ts'
import { readSession, type Session } from './session.ts'

/** Returns a client with the address and the token of the user. @throws Failure 4 if the user is not signed in */
export const connect = async (cli: Cli): Promise<Docket> => openClient(cli, await readSession(cli.env))

export function openClient(cli: Cli, session: Session): Docket {
  // A wrong variable ends the command at once. An error of `fetch` would be retried.
  proxyOf(session.url, cli.env)
  return new Docket({ ...session, fetch: reportingRetries(cli, session.url) })
}

/** Returns a `fetch` that prints a line on a terminal after the first failed attempt, because retries may last a minute. */
function reportingRetries({ fetch, err }: Cli, url: string): Cli['fetch'] {
  let isReported = false
  const report = (reason: string) => {
    if (err.isTerminal && !isReported) void err.line(`${url} ${reason}: retrying`)
    isReported = true
  }
  return async (...request) => {
    try {
      const response = await fetch(...request)
      if (retriedStatuses.includes(response.status)) report(`answers ${response.status}`)
      return response
    } catch (error) {
      if (!request[1].signal?.aborted) report('does not answer')
      throw error
    }
  }
}

/** Reads up to `limit` rows of a list, page by page. */
export const collect = <Row>(
  { err }: Cli,
  list: AsyncIterable<Row>,
  what: string,
  limit = Infinity,
): Promise<Row[]> =>
  withProgress(err, what, async (show) => {
    const rows: Row[] = []
    for await (const row of list) {
      if (rows.push(row) >= limit) break
      if (rows.length % 200 === 0) show(rows.length)
    }
    return rows
  })

/** Returns the key of one of several requests that a command sends. @param index of the request, from 0 */
export const keyOf = (key: string | undefined, index: number): string | undefined =>
  key && index > 0 ? `${key}-${index}` : key

/** Returns options of a write. Within the command of `claim-next --exec`, a write fails after the end of the claim. */
export const writeOptions = (
  { env }: Pick<Cli, 'env'>,
  { key }: { key?: string | undefined },
  { taskId, projectId }: { taskId?: string; projectId?: string },
) => {
  const isClaimed = taskId ? taskId === env.DOCKET_TASK_ID : projectId === env.DOCKET_PROJECT
  const claim = env.DOCKET_TASK_ID && env.DOCKET_CLAIM_SEQ && `${env.DOCKET_TASK_ID} ${env.DOCKET_CLAIM_SEQ}`
  return { idempotencyKey: key, ifClaim: (isClaimed && claim) || undefined }
}
