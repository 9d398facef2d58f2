import type { Sql } from '../../src/postgres/database.ts'
import { type Client, type Person, register } from './client.ts'
import { forFile, openTestService, type TestService } from './service.ts'

/** A service, how to reach it without a token, and its database. */
interface Scene {
  service: TestService
  client: Client
  sql: Sql
}

/** Opens a service for all tests of a file, and registers people there: `Ada` is `ada` of the scene. */
export async function openScene<Name extends string = never>(
  names: Name[] = [],
  env: Record<string, string> = {},
): Promise<Scene & Record<Uncapitalize<Name>, Person>> {
  const service = await forFile(openTestService(env))
  const { client, services } = service
  const people: Record<string, Person> = {}
  for (const name of names) people[name.toLowerCase()] = await register(client, name)
  return {
    service,
    client,
    sql: services.database.background,
    ...(people as Record<Uncapitalize<Name>, Person>),
  }
}
