/** Returns the arguments of `docket` in a line of a shell, without redirections. */
export function shellWords(line: string): string[] {
  const [, text = ''] = /(?:^|\| |\$\()\s*docket (.*?)(?: [<>] .*|\)"?)?$/.exec(line) ?? []
  return [...text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]!)
}
