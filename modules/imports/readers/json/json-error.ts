/** The document is broken at this byte. */
export class JsonError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message)
  }
}

/** The tokenizer has no other way to return the position of an unexpected character. */
export function syntaxErrorOf({ message }: Error): JsonError | undefined {
  const match = /^Unexpected "([\s\S]*?)" at chunk position .*absolute position "(\d+)"/.exec(message)
  if (!match) return undefined
  const [, character, offset] = match
  return new JsonError(`The file is not valid JSON: unexpected ${JSON.stringify(character)}`, Number(offset))
}
