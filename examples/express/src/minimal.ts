// The smallest complete program: pnpm --filter @fairlead-examples/express start
import { fairMiddleware } from '@fairlead/express'
import express from 'express'

const app = express()
app.use(fairMiddleware())
app.get('/', (_req, res) => {
  res.send('hello\n')
})
const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  // Express also reports here that the port is in use.
  if (error !== undefined) throw error
  console.log('listening on', server.address())
})
