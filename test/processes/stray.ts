// Loaded before the service: at a signal, fails where nobody catches it.
process.on('SIGUSR2', () => void Promise.reject(new Error('a stray rejection')))
