import { readFileSync } from 'node:fs'
import type { Config } from '../config.ts'
import type { Entity } from '../model/entities.ts'
import { definitionOf, model, titleOf } from '../model/model.ts'
import packageJson from '../../package.json' with { type: 'json' }

/** The server replaces {basePath} for each request. */
export const guidesUrl = '{basePath}/api/docs/guides'

export const fillTemplate = (text: string, values: Record<string, string>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder)

/** The groups are in the order in which a new user needs them. */
function tags(): { name: string; description: string }[] {
  const last: Entity[] = ['member', 'webhook', 'token', 'service_account']
  const first = model().names.filter((name) => !last.includes(name))
  const of = (name: Entity) => ({ name: `${titleOf(name)}s`, description: definitionOf(name).about })
  return [
    { name: 'Authentication', description: 'Register, sign in and out, and change your account.' },
    ...first.map(of),
    of('member'),
    { name: 'Search', description: 'Tasks, comments and projects by their words, ids and numbers.' },
    { name: 'Imports', description: 'Files of other systems that become tasks, subtasks and comments.' },
    { name: 'Exports', description: 'Projects as files.' },
    { name: 'Events', description: 'The feed: every change of a project, in order and without gaps.' },
    { name: 'History', description: 'Past changes, newest first, and undo.' },
    ...[of('webhook'), of('token'), of('service_account')],
    { name: 'Agents', description: 'The Model Context Protocol: the tools of an agent.' },
    { name: 'Health', description: 'Whether the process runs, and whether the service is ready.' },
  ]
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The `access_token` from register or login, or an API token from `POST /tokens`',
  },
}

const hours = (seconds: number): string =>
  seconds % 86_400 === 0 ? `${seconds / 86_400} days` : `${(seconds / 3_600).toFixed(1)} hours`

export function description(config: Config) {
  const values = {
    guides: guidesUrl,
    tokenLife: hours(config.jwtExpirationSeconds),
    passwordCharacters: String(config.passwordMinCharacters),
    commonPasswords: config.passwordRejectCommon
      ? ', and must not be one of the 10,000 most common passwords'
      : '',
  }
  const text = readFileSync(new URL('./introduction.md', import.meta.url), 'utf8')
  const { description: summary, license, version } = packageJson
  return {
    // Version 3.1 contains JSON Schema: `null` is a type, and `examples` is a list.
    openapi: '3.1.0',
    info: {
      title: 'Docket',
      summary,
      description: fillTemplate(text, values),
      version,
      contact: { name: 'The operator of this service' },
      license: { name: license, identifier: license },
    },
    servers: [{ url: '{serverUrl}', description: 'This service' }],
    tags: tags(),
    components: { securitySchemes },
  }
}
