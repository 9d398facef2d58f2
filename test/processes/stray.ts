// Preloaded by tests: SIGUSR2 causes an unhandled rejection.
process.on('SIGUSR2', () => void Promise.reject(new Error('a stray rejection')))
