FROM oven/bun:1.4.5-slim AS packages
WORKDIR /app
COPY package.json bun.lock ./
COPY src/postgres/postgres.patch ./src/postgres/
RUN bun install --frozen-lockfile --production --ignore-scripts

FROM oven/bun:1.4.5-slim
LABEL org.opencontainers.image.title="Docket"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DRAIN_DELAY_MS=5000 BUN_JSC_forceRAMSize=402653184
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json tsconfig.json bunfig.toml ./
COPY docs ./docs
COPY drizzle ./drizzle
COPY src ./src
COPY modules ./modules
COPY workers ./workers
COPY clients/board ./clients/board
USER bun
EXPOSE 3000
# In contrast to fetch, node:http ignores HTTP_PROXY.
HEALTHCHECK --interval=10s --timeout=5s --retries=3 \
  CMD ["bun", "-e", "require('node:http').get(`http://127.0.0.1:${process.env.PORT}/health/live`, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["bun", "src/main.ts", "web"]
