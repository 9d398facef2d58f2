import { newId } from '../ids.ts'
import { mailJobName, type OwedJob } from './queue.ts'

/** What a mail is for: to verify an address, or to set a forgotten password. */
export type Purpose = 'verify' | 'reset'

/** The job that sends a mail to an account, which is named by its id or its address. */
export function mailJob(purpose: Purpose, account: { userId: string } | { email: string }): OwedJob {
  const id = newId()
  return { id, projectId: null, name: mailJobName, data: { id, purpose, ...account } }
}
