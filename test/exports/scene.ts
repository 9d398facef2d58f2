import type { Client } from '../support/client.ts'

/** Returns the text of an export. @throws unless the status is 200 */
export async function exported(client: Client, projectId: string, parameters = ''): Promise<string> {
  const answer = await client.get(`/projects/${projectId}/export?${parameters}`)
  if (answer.status !== 200) throw new Error(`The export answered ${answer.status} ${answer.text}`)
  return answer.text
}

export const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Two exports of the same version differ only by the time of the export. */
export const withoutTime = (text: string): string => text.replace(/"exportedAt":"[^"]*"/, '')
