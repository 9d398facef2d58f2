import process from 'node:process'
import { type Config, renamedSettings, settingNames } from '../config.ts'
import { type Log, openLog, openBufferedLog } from '../log.ts'
import { misspeltSettings, type VariableNames } from '../schema/misspelt.ts'
import { urlsOf } from './port.ts'

/** Opens the log. `start` keeps its log back until `begin`, which first prints where the service is if it has a port. */
export function openFirstLines(command: string, { host, logLevel }: Config, isLed: boolean) {
  if (isLed || command !== 'start')
    return { log: openLog(logLevel, isLed ? { pid: process.pid } : null), begin: (_port?: number) => {} }
  const { log, begin } = openBufferedLog(logLevel)
  return {
    log,
    begin(port?: number) {
      const { api, docs } = urlsOf({ host, port: port ?? 0 })
      if (port) process.stdout.write(`API         ${api}\nSwagger UI  ${docs}\n`)
      begin()
    },
  }
}

/** Warns of variables that look like settings but are not, and of settings under the name of the release before. */
export function warnOfNames(log: Log, given: Omit<VariableNames, 'settings'>): void {
  const renamed = renamedSettings()
  for (const { name: variable, suggestion } of misspeltSettings({
    settings: [...settingNames(), ...renamed.keys()],
    ...given,
  }))
    log.warn({ variable }, `this variable is no setting${suggestion ? `; did you mean ${suggestion}?` : ''}`)
  for (const [variable, name] of renamed)
    if (given.inFiles.includes(variable) || given.inEnvironment.includes(variable))
      log.warn({ variable }, `this setting is called ${name} now; the next release ignores the old name`)
}
