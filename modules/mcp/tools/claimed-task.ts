export interface Task {
  id: string
  description: string | null
  claim: Claim | null
}

export interface Claim {
  by: { id: string; name: string | null }
  until: string
  seq: number
}

/** The most bytes of a description in the answer. */
const maxBytes = 6_000

/** Returns the task without empty fields. A long description is cut, and `get` returns the rest. */
export function taskOf(task: Task): object {
  const fields = Object.entries(task).filter(
    ([, value]) => value !== null && JSON.stringify(value).length > 2,
  )
  const description = task.description === null ? undefined : cut(task.description)
  return { ...Object.fromEntries(fields), description }
}

function cut(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  return `${new TextDecoder().decode(bytes.subarray(0, maxBytes), { stream: true })}… (get returns the whole text)`
}
