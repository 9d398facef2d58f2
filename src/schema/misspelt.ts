import { distance } from 'fastest-levenshtein'
import { nearest } from './nearest.ts'

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

export interface Names {
  known: string[]
  /** The variables that stand in `.env` files. */
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
