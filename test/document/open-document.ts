import { openTestService } from '../kit.ts'

export async function openDocument(): Promise<string> {
  await using service = await openTestService()
  const { status, text } = await service.client.get('/../docs/json')
  if (status !== 200) throw new Error(`GET /api/docs/json returned ${status}`)
  return text
}
