// The smallest complete program: pnpm --filter @fairlead-examples/hono start
import { fairMiddleware } from '@fairlead/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.use(fairMiddleware())
app.get('/', (c) => c.text('hello\n'))
const port = Number(process.env['PORT'] ?? 3000)
serve({ fetch: app.fetch, port }, (address) => console.log('listening on', address))
