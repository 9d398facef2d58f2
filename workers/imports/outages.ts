import type { RunningImport } from './run/import-row.ts'

const maxOutageMs = 600_000

/** Remembers since when an import cannot continue because of temporary errors. */
export function openOutages() {
  const outages = new Map<string, { at: string; since: number }>()
  return {
    /** True if the import has been at the same cursor for 10 minutes. */
    isLong({ id, cursor }: RunningImport): boolean {
      const at = JSON.stringify(cursor)
      const known = outages.get(id)
      if (known?.at === at) return performance.now() > known.since + maxOutageMs
      outages.set(id, { at, since: performance.now() })
      return false
    },
    end: (id: string): void => void outages.delete(id),
  }
}
