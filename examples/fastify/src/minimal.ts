// The smallest complete program: pnpm --filter @fairlead-examples/fastify start
import { fairPlugin } from '@fairlead/fastify'
import { fastify } from 'fastify'

const app = fastify()
await app.register(fairPlugin)
app.get('/', async () => 'hello\n')
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log('listening on', app.server.address())
