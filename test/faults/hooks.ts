import { Webhook } from 'standardwebhooks'
import type { Letter } from './receivers.ts'
import type { KnownProject } from './world.ts'

export interface Hook {
  path: string
  project: KnownProject
  types: string[] | null
  /** What the service calls it, and the seq after which it begins; undefined until its answer is there. */
  known: { id: string; after: number } | undefined
  secrets: string[]
  /** Where it was begun again, and the last step at receivers before. */
  replays: { after: number; since: number }[]
  /** It was deleted: what is due to it by then may not come any more. */
  isGone: boolean
}

export class Hooks {
  readonly all: Hook[] = []
  readonly flaws: string[] = []
  /** What came before its secret was known. */
  private readonly early: Letter[] = []

  add(project: KnownProject, types: string[] | null): Hook {
    const path = `/${this.all.length}`
    const hook = { path, project, types, known: undefined, secrets: [], replays: [], isGone: false }
    this.all.push(hook)
    return hook
  }

  learn(hook: Hook, secret: string): void {
    hook.secrets.push(secret)
    for (const letter of this.early.splice(0)) this.verify(letter)
  }

  verify = (letter: Letter): void => {
    const { path, id, projectId } = letter.received
    const hook = this.all.find((one) => one.path === path)
    if (!hook || projectId !== hook.project.id) this.flaws.push(`${id} of ${projectId} came to ${path}`)
    else if (hook.secrets.length === 0) this.early.push(letter)
    else if (!hook.secrets.some((secret) => isSigned(secret, letter)))
      this.flaws.push(`${id} came to ${path} with another signature`)
  }
}

function isSigned(secret: string, { text, headers }: Letter): boolean {
  try {
    new Webhook(secret).verify(text, headers)
    return true
  } catch {
    return false
  }
}
