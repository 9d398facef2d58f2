import { newId } from '../ids.ts'
import { mailJobName, type OwedJob } from './queue.ts'

export type Purpose = 'verify' | 'reset'

/** Sends a mail to an account. */
export function mailJob(purpose: Purpose, account: { userId: string } | { email: string }): OwedJob {
  const id = newId()
  return { id, projectId: null, name: mailJobName, data: { id, purpose, ...account } }
}
