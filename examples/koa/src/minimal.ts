// The smallest complete program: pnpm --filter @fairlead-examples/koa start
import { fairMiddleware } from '@fairlead/koa'
import Koa from 'koa'

const app = new Koa()
app.use(fairMiddleware())
app.use((ctx) => {
  ctx.body = 'hello\n'
})
const server = app.listen(Number(process.env['PORT'] ?? 3000), () => console.log('listening on', server.address()))
