import { openTestService } from '../support/service.ts'

/** The document, as a service of its own sends it. */
export async function openDocument(): Promise<string> {
  await using service = await openTestService()
  const { status, text } = await service.client.get('/../docs/json')
  if (status !== 200) throw new Error(`the document was answered with ${status}`)
  return text
}
