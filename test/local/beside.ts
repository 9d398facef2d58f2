const server = Bun.serve({
  port: Number(process.argv[2]),
  hostname: '127.0.0.1',
  reusePort: true,
  fetch: () => new Response('beside'),
})
console.log(server.port)
