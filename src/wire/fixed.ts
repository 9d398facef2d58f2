import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { takesGzip } from './gzip.ts'

const compress = promisify(gzip)

export type Fixed = (request: Request) => Promise<Response>

/** Answers what never changes from memory, in either form. `read` and gzip are asked once, by who comes first. */
export function fixed(read: () => string | Uint8Array<ArrayBuffer>, headers: Record<string, string>): Fixed {
  let forms: Promise<{ plain: string | Uint8Array<ArrayBuffer>; small: Uint8Array<ArrayBuffer> }> | undefined
  const open = async () => {
    const plain = read()
    return { plain, small: await compress(plain) }
  }
  const again = (error: unknown) => {
    forms = undefined
    throw error
  }
  const all = { ...headers, 'x-content-type-options': 'nosniff', vary: 'Accept-Encoding' }
  return async (request) => {
    const { plain, small } = await (forms ??= open().catch(again))
    if (!takesGzip(request) || small.length >= plain.length) return new Response(plain, { headers: all })
    return new Response(small, { headers: { ...all, 'content-encoding': 'gzip' } })
  }
}
