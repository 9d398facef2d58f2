import { Tokenizer } from '@streamparser/json'
import { lineAt, type Open, readText } from '../csv/text.ts'
import { ImportError } from '../../items.ts'
import { Builder } from './builder.ts'
import { JsonError, syntaxErrorOf } from './json-error.ts'
import type { Entry } from './entry.ts'
import { maxKeptCharacters } from './limits.ts'

interface Options {
  /** Keys that are left out of the parts, at any depth. */
  omit?: string[]
  /** `many`: several JSON documents one after the other, such as one for each line. */
  documents?: 'one' | 'many'
  /** `arrays or objects`: an object, whose keys are ids, may replace a list. */
  lists?: 'arrays' | 'arrays or objects'
}

/** A JSON file of any size, whose parts are read one by one. */
export class JsonFile {
  /** The top-level keys of the file that begin a part of any reading so far. */
  readonly foundKeys = new Set<string>()

  constructor(private readonly open: Open) {}

  /**
   * Returns the objects that match a pattern, in the order of the file.
   * @param parts such as `cards.*`: keys, and `*` for any key or entry of a list. A pattern that ends with a key, such
   * as `desc`, also matches a text, which is returned as an object with this key
   * @throws ImportError if the file is broken, or larger than a limit
   */
  async *read(parts: string[], { omit = [], documents, lists }: Options = {}): AsyncGenerator<Entry> {
    const builder = new Builder(parts, new Set(omit), documents, lists)
    const tokenizer = new Tokenizer({ stringBufferSize: 64 * 1024 })
    let bytes = 0
    tokenizer.onToken = (token) => builder.add(token)
    for await (const piece of readText(this.open)) {
      bytes += piece.length
      await this.check(() => {
        tokenizer.write(piece)
        builder.checkLength(bytes)
      })
      for (const entry of builder.take()) yield entry
    }
    await this.check(() => finish(tokenizer, builder))
    for (const key of builder.foundKeys) this.foundKeys.add(key)
  }

  /**
   * Reads the objects that match a pattern into memory, and returns them by their pattern.
   * @param parts the most objects of each pattern
   */
  async index<Part extends string>(
    parts: Record<Part, number>,
    options?: Options,
  ): Promise<Record<Part, Entry[]>> {
    const names = Object.keys(parts) as Part[]
    const index = Object.fromEntries(names.map((part) => [part, []])) as unknown as Record<Part, Entry[]>
    let characters = 0
    for await (const entry of this.read(names, options)) {
      const [part, path] = [entry.part as Part, entry.path.slice(0, -1).join('.')]
      index[part].push(entry)
      characters += entry.characters
      if (index[part].length > parts[part])
        throw new ImportError(`The file has more than ${parts[part].toLocaleString('en')} ${path}`)
      if (characters > maxKeptCharacters)
        throw new ImportError(
          `The lists, labels and links of the cards, up to ${path}, have more than ${maxKeptCharacters.toLocaleString('en')} characters`,
        )
    }
    return index
  }

  /** Turns the errors of the parser into an ImportError with the line. */
  private async check(parse: () => void): Promise<void> {
    try {
      parse()
    } catch (error) {
      const broken = error instanceof JsonError ? error : syntaxErrorOf(error as Error)
      if (!broken) throw error
      throw new ImportError(broken.message, `line ${await lineAt(this.open, broken.offset)}`)
    }
  }
}

function finish(tokenizer: Tokenizer, builder: Builder): void {
  const { offset } = builder
  try {
    tokenizer.end()
  } catch (error) {
    if (error instanceof JsonError) throw error
    throw new JsonError('The file ends in the middle of a value: it may be cut off', offset)
  }
  if (builder.isEmpty) throw new JsonError('The file is empty', offset)
  if (builder.isComplete()) return
  throw new JsonError('The file ends before its last object or list is closed: it may be cut off', offset)
}
