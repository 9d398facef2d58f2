type Row = Record<string, unknown>

/** Compares rows. An absent field equals null. */
export function isSame(
  one: Row | null | undefined,
  other: Row | null | undefined,
  except: string[] = [],
): boolean {
  const toJson = (row: Row | null | undefined) =>
    row &&
    JSON.stringify(
      Object.entries(row)
        .filter(([name, value]) => value !== null && !except.includes(name))
        .sort(),
    )
  return (toJson(one) ?? null) === (toJson(other) ?? null)
}
