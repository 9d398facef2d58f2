import type { Command } from '../command.ts'

interface Option {
  name: string
  about: string
  takesValue: boolean
  /** The fixed values of the option. */
  values: string[]
  isFile: boolean
}

const generators = { bash, zsh, fish }
type Shell = keyof typeof generators
export const shells = Object.keys(generators) as Shell[]
export const isShell = (text: string): text is Shell => Object.hasOwn(generators, text)

export const completionScript = (shell: Shell, commands: Command[]): string => generators[shell](commands)

const help: Option = { name: 'help', about: 'Show help', takesValue: false, values: [], isFile: false }

function optionsOf({ args }: Command): Option[] {
  const options = Object.entries(args).flatMap(([name, { type, description = '', ...rest }]) => {
    const hint = 'valueHint' in rest ? rest.valueHint : undefined
    const values = hint?.includes('|') ? hint.split('|') : []
    const option = {
      name,
      about: description,
      takesValue: type !== 'boolean',
      values,
      isFile: isFileHint(hint),
    }
    return type === 'positional' ? [] : [option]
  })
  return [...options, help]
}

/** Returns the fixed values of the first positional argument. */
function wordsOf({ args }: Command): string[] {
  const [first] = Object.values(args).filter(({ type }) => type === 'positional')
  return first?.valueHint?.includes('|') ? first.valueHint.split('|') : []
}

/** `file`, or `file or JSON` */
const isFileHint = (hint: string | undefined) => hint?.startsWith('file') === true

const readsFile = ({ args }: Command) =>
  Object.values(args).some(({ type, valueHint }) => type === 'positional' && isFileHint(valueHint))

const namesOf = (commands: Command[]) => commands.map(({ name }) => name).join(' ')

function bash(commands: Command[]): string {
  const cases = commands.map((command) => {
    const options = optionsOf(command)
    const values = options.filter((option) => option.values.length > 0)
    const ofValues = values.map(({ name, values }) => `      --${name}) words='${values.join(' ')}' ;;`)
    const others = options.filter(({ takesValue, values }) => takesValue && values.length === 0)
    const files =
      others.length > 0 ? [`      ${others.map(({ name }) => `--${name}`).join('|')}) return ;;`] : []
    const words = [...options.map(({ name }) => `--${name}`), ...wordsOf(command)].join(' ')
    return [
      `    ${command.name})`,
      '      case "$previous" in',
      ...[...ofValues, ...files].map((line) => `  ${line}`),
      `        *) words='${words}' ;;`,
      '      esac ;;',
    ].join('\n')
  })
  return `_docket() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then words='${namesOf(commands)} --help --version'; else
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _docket docket
`
}

/** A text within single quotes of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

function zsh(commands: Command[]): string {
  // In a specification of _arguments, these characters end the description.
  const escaped = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')
  const lines = commands.map((command) => {
    const specs = optionsOf(command).map(({ name, about, takesValue, values, isFile }) => {
      const action = isFile ? '_files' : values.length > 0 ? `(${values.join(' ')})` : ' '
      const value = takesValue ? `:${name}:${action}` : ''
      return quoted(`--${name}[${escaped(about)}]${value}`)
    })
    const words = wordsOf(command)
    if (words.length > 0) specs.push(quoted(`1:argument:(${words.join(' ')})`))
    if (readsFile(command)) specs.push(quoted('1:file:_files'))
    return `    ${command.name}) _arguments ${specs.join(' ')} ;;`
  })
  const described = commands.map(({ name, about }) => `    ${quoted(`${name}:${escaped(about)}`)}`)
  return `#compdef docket
_docket() {
  local -a commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${lines.join('\n')}
  esac
}
if [ "$funcstack[1]" = _docket ]; then _docket "$@"; else compdef _docket docket; fi
`
}

function fish(commands: Command[]): string {
  const text = (part: string) => `'${part.replace(/['\\]/g, '\\$&')}'`
  const first = '__fish_use_subcommand'
  const names = commands.map(
    ({ name, about }) => `complete -c docket -f -n ${first} -a ${name} -d ${text(about)}`,
  )
  const options = commands.flatMap((command) => {
    const when = `-n ${text(`__fish_seen_subcommand_from ${command.name}`)}`
    const lines = optionsOf(command).map(({ name, about, takesValue, values, isFile }) => {
      const words = values.length > 0 ? ` -a ${text(values.join(' '))}` : ''
      const value = takesValue ? (isFile ? ' -r' : ` -x${words}`) : ''
      return `complete -c docket ${when} -l ${name}${value} -d ${text(about)}`
    })
    const words = wordsOf(command)
    return words.length > 0 ? [...lines, `complete -c docket -f ${when} -a ${text(words.join(' '))}`] : lines
  })
  return `${[...names, ...options].join('\n')}\n`
}
