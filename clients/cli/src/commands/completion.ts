import { type Command, command } from '../command.ts'
import { completionScript, isShell, shells } from '../completion/scripts.ts'
import { usageError } from '../failure.ts'

/** Returns the command `completion`, which completes itself and `others`. */
export function completionFor(others: Command[]): Command {
  const own: Command = command({
    name: 'completion',
    about: `Print a script that completes commands and options in a shell: ${shells.join(', ')}`,
    args: { shell: { type: 'positional', valueHint: shells.join('|'), description: 'The shell' } },
    examples: [
      'eval "$(docket completion bash)"',
      'docket completion zsh > "${fpath[1]}/_docket"',
      'docket completion fish > ~/.config/fish/completions/docket.fish',
    ],
    async run({ out }, { shell }) {
      if (!isShell(shell)) throw usageError(`The shell must be one of ${shells.join(', ')}`)
      await out.write(completionScript(shell, [...others, own]))
    },
  })
  return own
}
