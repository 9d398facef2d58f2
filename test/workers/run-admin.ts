import { parseAdmin } from '../../workers/one-off/admin.ts'
import type { AdminContext, Output } from '../../workers/one-off/command-line.ts'
import type { TestService } from '../kit.ts'

export async function runAdmin({ services }: TestService, ...words: string[]): Promise<Output> {
  return execute(words, { config: services.config, sql: services.database.background })
}

export async function execute(words: string[], context: AdminContext): Promise<Output> {
  const command = parseAdmin(words)
  return typeof command === 'function' ? command(context) : command
}
