export const words = (text: string): string[] => text.trim().split(/\s+/)

/** Returns the rows of a table: a row a line, with ` | ` between its cells. */
export const rowsOf = (table: string) =>
  table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ \| ?/) as [string, string, string, string, string])
