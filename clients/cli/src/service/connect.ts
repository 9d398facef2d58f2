import { Docket } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { openProgress } from '../terminal/progress.ts'
import { readSession } from './session.ts'

/** Returns a client with the address and the token of the user. @throws Failure 4 if the user is not signed in */
export const connect = async ({ env, fetch }: Cli): Promise<Docket> =>
  new Docket({ ...(await readSession(env)), fetch })

/** Reads up to `limit` rows of a list, page by page. */
export async function collect<Row>(
  { err }: Cli,
  list: AsyncIterable<Row>,
  what: string,
  limit = Infinity,
): Promise<Row[]> {
  const rows: Row[] = []
  const progress = openProgress(err, what)
  for await (const row of list) {
    if (rows.length >= limit) break
    if (rows.push(row) % 200 === 0) progress.show(rows.length)
  }
  progress.end()
  return rows
}

/** Returns options of a write. A command that `claim-next --exec` runs writes only while the claim lasts. */
export const writeOptions = (
  { env }: Pick<Cli, 'env'>,
  { key }: { key?: string | undefined },
  { taskId, projectId }: { taskId?: string; projectId?: string },
) => {
  const isClaimed = taskId ? taskId === env.DOCKET_TASK_ID : projectId === env.DOCKET_PROJECT
  const claim = env.DOCKET_TASK_ID && env.DOCKET_CLAIM_SEQ && `${env.DOCKET_TASK_ID} ${env.DOCKET_CLAIM_SEQ}`
  return { idempotencyKey: key, ifClaim: (isClaimed && claim) || undefined }
}
