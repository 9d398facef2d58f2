import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parseEnv } from 'node:util'
import { distance } from 'fastest-levenshtein'
import { settingNames } from '../config.ts'
import type { Log } from '../log.ts'
import { nearest } from '../schema/nearest.ts'

/** Variables that Compose, Postgres, OpenTelemetry and the runtime read, and that a `.env` may hold for them. */
const foreign =
  /^(COMPOSE_|DOCKER_|POSTGRES_|REDIS_PASSWORD$|PG[A-Z]+$|OTEL_|NODE_|BUN_|NPM_|TZ$|SSL_)|_PROXY$/i
/** An environment holds many variables of others: only a long name that is this close to a setting is meant to be it. */
const closeEdits = 2
const longCharacters = 8

interface Misspelt {
  name: string
  /** The setting that was likely meant. */
  meant: string | undefined
}

interface Names {
  known: string[]
  inFiles: string[]
  inEnvironment: string[]
}

/** The variables that look like settings and are none. */
export function misspelt({ known, inFiles, inEnvironment }: Names): Misspelt[] {
  const unknown = (names: string[]) => names.filter((name) => !known.includes(name))
  const told = unknown(inFiles).flatMap((name) => {
    if (!foreign.test(name)) return { name, meant: nearest(name, known) }
    return close(name, known) ?? []
  })
  const others = unknown(inEnvironment).filter((name) => !inFiles.includes(name))
  return [...told, ...others.flatMap((name) => close(name, known) ?? [])]
}

function close(name: string, known: string[]): Misspelt | undefined {
  if (name.length < longCharacters) return undefined
  const meant = known.find((one) => distance(name, one) <= closeEdits)
  return meant ? { name, meant } : undefined
}

/** Warns of variables that nothing reads, so that a setting with a wrong name is not taken for one that holds. */
export function warnOfMisspelt(log: Log): void {
  const inEnvironment = Object.keys(process.env)
  const inFiles = namesInFiles().filter((name) => inEnvironment.includes(name))
  for (const { name: variable, meant } of misspelt({ known: settingNames(), inFiles, inEnvironment }))
    log.warn({ variable }, `this variable is no setting${meant ? `; did you mean ${meant}?` : ''}`)
}

/** What stands in the files that Bun has read into the environment, unless it was told not to. */
function namesInFiles(): string[] {
  if (process.execArgv.includes('--no-env-file')) return []
  const mode = process.env.NODE_ENV || 'development'
  const files = ['.env', `.env.${mode}`, '.env.local', `.env.${mode}.local`]
  return [...new Set(files.flatMap((file) => Object.keys(parseEnv(textOf(file)))))]
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // it is not there, or not for us
  }
}
