import { createTarPacker } from 'modern-tar'
import type { Chunks } from './bytes.ts'

export interface Entry {
  name: string
  size: number
  chunks: Chunks
}

/** Yields a tar archive. An entry is created only after the client has received the previous entries. */
export async function* tarOf(entries: AsyncGenerator<Entry, void, void>): Chunks {
  const { readable, controller } = createTarPacker()
  const write = async () => {
    for await (const { name, size, chunks } of entries) {
      const body = controller.add({ name, size, mtime: new Date() }).getWriter()
      for await (const chunk of chunks) await body.write(chunk as Uint8Array)
      await body.close()
    }
    controller.finalize()
  }
  const written = write().catch((error: unknown) => controller.error(error as Error))
  const reader = readable.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      yield value
    }
  } finally {
    // Ends `write`, which closes the current entry.
    await reader.cancel().catch(() => {})
    await written
  }
}
