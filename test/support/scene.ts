import type { Sql } from '../../src/postgres/database.ts'
import { type Client, type Person, register } from './client.ts'
import { forFile, openSharedService, openTestService, type TestService } from './service.ts'

interface Scene {
  service: TestService
  client: Client
  sql: Sql
}

/**
 * Opens a service for all tests of a file and registers users; the user `Ada` is the property `ada` of the result. Files
 * without `env` share a service, whose database is empty when a file begins: a file that changes the state of the process,
 * such as its clock, gives `{}`.
 */
export async function openScene<Name extends string = never>(
  names: Name[] = [],
  env?: Record<string, string>,
): Promise<Scene & Record<Uncapitalize<Name>, Person>> {
  const service = await forFile(env ? openTestService(env) : openSharedService())
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
