/** Returns the arguments of `docket` in a shell line, without redirections. */
export function shellWords(line: string): string[] {
  const [, text = ''] = /(?:^|\| |\$\()\s*docket (.*?)(?: [<>] .*|\)"?)?$/.exec(line) ?? []
  return [...text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3]!)
}
