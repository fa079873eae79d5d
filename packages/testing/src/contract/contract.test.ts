import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { pipeline, Readable } from 'node:stream'
import type { Decision, Permit } from '@fairlead/core'
import {
  type HttpVisit,
  NodeAdmission,
  onResponseEnd,
  PROBLEM_JSON,
  refuseBody,
  runFor,
  statusOfError,
} from '@fairlead/core/http'
import { describe, expect, it } from 'vitest'
import { type AdapterHarness, type AppSetup, adapterContract, type HandlerAnswer, listen } from './index.js'

type Request = IncomingMessage | Http2ServerRequest
type Response = ServerResponse | Http2ServerResponse
type Target = [request: Request, response: Response]
type RequestListener = (...target: Target) => Promise<void>
type Visit = HttpVisit<Target>

/** Defects of an adapter. */
type Defect =
  | 'hears finish, not close'
  | 'hears the response, not its socket'
  | 'reads the status of clients that left'
  | 'takes what was written for what was sent'
  | 'forgets waiting requests'
  | 'answers refusals without Retry-After'
  | 'runs the handler of refused requests'
  | 'releases when the handler has settled'
  | 'releases wrapped handlers when the client leaves'
  | 'tells nothing of budgets'
  | 'tells budgets before an error handler clears them away'
  | 'tells budgets in refusals only'
  | 'forgets that it told another'
  | 'forgets the gate outside'
  | 'reads what it has refused'
  | 'hears only what Node hears'
  | 'remembers every request'
  | 'forgets for whom it works'

const framework = {
  name: 'plain',
  address: (request: Request) => request.socket.remoteAddress,
  status: (_request: Request, response: Response) => response.statusCode,
  shed: () => false as const,
  untrustedHeaders: (request: Request) => request.headers,
  trust: 'There is no way to trust one.',
}

/**
 * The smallest adapter, for `node:http` itself: it knows when its handler has settled, and holds the permit until then.
 */
function plainHarness(defect?: Defect): AdapterHarness<Target> {
  return {
    seesHandlers: 'always',
    // With a defect a case fails by a time-out; retained objects are checked only after all requests have ended.
    ...(defect === undefined || defect === 'remembers every request' ? {} : { watchdogMs: 100 }),
    crowd: defect === undefined ? Number(process.env['FAIRLEAD_CROWD'] ?? 100) : 100,
    header: ([request], name) => request.headers[name]?.toString(),
    start: (setup) => listen(createServer(listener(setup, defect))),
    startHttp2: (setup) => listen(createHttp2Server(listener(setup, defect))),
  }
}

function listener({ middleware, play }: AppSetup<Target>, defect: Defect | undefined): RequestListener {
  const gates = middleware.map((options) => new NodeAdmission(framework, options))
  const remembered: Visit[] = []
  return async (request, response) => {
    let visit: Visit | undefined
    for (const gate of gates) {
      const next: Visit = gate.visit([request, response], defect === 'forgets the gate outside' ? undefined : visit)
      hear(gate, next, defect)
      if (defect === 'remembers every request') remembered.push(next)
      const asked = gate.ask(next)
      const decision = asked instanceof Promise ? await asked : asked
      if (decision === undefined) continue
      if (!enter(gate, next, decision, defect)) return
      visit = next
    }
    await handle(play, visit, request, response, defect)
  }
}

function hear(gate: NodeAdmission<Target>, visit: Visit, defect: Defect | undefined): void {
  const [request, response] = visit.target
  if (defect === 'hears finish, not close') response.on('finish', () => visit.responseEnded(false))
  else if (defect === 'hears the response, not its socket')
    response.on('close', () => visit.responseEnded(!response.writableEnded || request.aborted))
  else if (defect === 'takes what was written for what was sent')
    response.on('close', () => visit.responseEnded(!response.writableFinished))
  else if (defect === 'hears only what Node hears') {
    const ended = (): void => visit.responseEnded(!response.writableFinished || request.aborted)
    response.on('close', ended)
    // More pipelined requests than Node's limit on listeners.
    request.socket.setMaxListeners(0).once('close', ended)
  } else if (defect === 'reads the status of clients that left')
    onResponseEnd(request, response, { responseEnded: () => visit.responseEnded(false) })
  else if (defect === 'forgets waiting requests')
    onResponseEnd(request, response, { responseEnded: (aborted) => visit.permit && visit.responseEnded(aborted) })
  else if (defect !== 'releases when the handler has settled') gate.watch(visit, request, response)
}

function enter(gate: NodeAdmission<Target>, visit: Visit, decision: Decision, defect: Defect | undefined): boolean {
  const [request, response] = visit.target
  if (decision.admitted) {
    tell(gate, visit, decision, defect)
    return visit.admit(decision)
  }
  if (defect === 'runs the handler of refused requests') return true
  if (decision.reason === 'gone') return false
  const { status, headers, body } = gate.refusal(decision)
  if (defect !== 'reads what it has refused') refuseBody(request, response)
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) {
    const isLeftOut =
      (defect === 'answers refusals without Retry-After' && name === 'Retry-After') ||
      (defect === 'tells nothing of budgets' && name.startsWith('RateLimit'))
    if (!isLeftOut) response.setHeader(name, value)
  }
  response.setHeader('Content-Type', PROBLEM_JSON)
  response.end(body)
  return false
}

function tell(gate: NodeAdmission<Target>, visit: Visit, permit: Permit, defect: Defect | undefined): void {
  const [, response] = visit.target
  if (defect === 'tells nothing of budgets' || defect === 'tells budgets in refusals only') return
  if (defect === 'tells budgets before an error handler clears them away' || defect === 'forgets that it told another')
    for (const [name, value] of Object.entries(gate.fields(permit) ?? {})) response.setHeader(name, value)
  else gate.tell(permit, response)
}

async function handle(
  play: (path: string, visit: Visit | undefined) => HandlerAnswer | Promise<HandlerAnswer>,
  visit: Visit | undefined,
  request: Request,
  response: Response,
  defect: Defect | undefined,
): Promise<void> {
  const done = defect === 'releases wrapped handlers when the client leaves' ? undefined : visit?.hold()
  try {
    const knows = visit !== undefined && defect !== 'forgets for whom it works'
    send(
      await (knows ? runFor(visit, () => play(request.url ?? '/', visit)) : play(request.url ?? '/', visit)),
      response,
    )
  } catch (error) {
    visit?.failed(error)
    if (defect !== 'forgets that it told another')
      for (const name of response.getHeaderNames()) response.removeHeader(name)
    response.writeHead(statusOfError(error) ?? 500).end()
  } finally {
    done?.()
    if (defect === 'releases when the handler has settled') visit?.responseEnded(false)
  }
}

function send(answer: HandlerAnswer, response: Response): void {
  if (answer.kind === 'http-error') throw Object.assign(new Error('an HTTP error'), { status: answer.status })
  if (answer.kind === 'stream') pipeline(Readable.from(answer.chunks), response, () => {})
  else {
    response.statusCode = answer.kind === 'send' ? answer.status : 200
    response.on('error', () => {}).end(answer.body)
    if (answer.kind === 'twice') response.end(answer.body)
  }
}

describe('adapter contract, node:http and node:http2', () => {
  for (const { name, run, timeoutMs } of adapterContract(plainHarness())) it(name, run, timeoutMs)
})

/** Node 24 and later report pipelined requests by their responses, too. */
const socketMatters = Number(process.versions.node.split('.')[0]) < 24

describe('the contract notices an adapter that', () => {
  it.each<[Defect, RegExp]>([
    ['hears finish, not close', /client gone while handled/],
    ...(socketMatters
      ? ([['hears the response, not its socket', /pipelined requests whose connection dies/]] as [Defect, RegExp][])
      : []),
    ['reads the status of clients that left', /client gone while handled/],
    ['takes what was written for what was sent', /HTTP.2: a stream reset while handled/],
    ['takes what was written for what was sent', /HTTP.2: a stream reset in the middle/],
    ['hears finish, not close', /HTTP.2: a stream reset while handled/],
    ['reads the status of clients that left', /HTTP.2: .* server cuts off/],
    ['forgets waiting requests', /HTTP.2: a connection that dies/],
    ['answers refusals without Retry-After', /HTTP.2: a flow over its share/],
    ['releases when the handler has settled', /HTTP.2: .* held until its last byte/],
    ['forgets waiting requests', /client gone while queued/],
    ['forgets waiting requests', /clients of .* kinds/],
    ['remembers every request', /clients of .* kinds/],
    ['remembers every request', /streams of .* kinds/],
    ['answers refusals without Retry-After', /a flow over its share/],
    ['runs the handler of refused requests', /a flow over its share/],
    ['releases when the handler has settled', /held until its last byte/],
    ['releases wrapped handlers when the client leaves', /abort and retry .* wrapped/],
    ['releases wrapped handlers when the client leaves', /meet a shortage after/],
    ['tells nothing of budgets', /near its exhaustion/],
    ['tells nothing of budgets', /a refusal by a budget/],
    ['tells budgets in refusals only', /a streamed body tells a budget/],
    ['tells budgets before an error handler clears them away', /^a thrown error tells a budget/],
    ['tells budgets before an error handler clears them away', /a redirect never/],
    ['tells budgets before an error handler clears them away', /while a handler works/],
    ['tells budgets before an error handler clears them away', /HTTP.2: a thrown error tells/],
    ['forgets that it told another', /two gates/],
    ['forgets the gate outside', /an inner gate that refuses/],
    ['forgets the gate outside', /a budget of an inner gate/],
    ['forgets the gate outside', /behind an inner gate with FAIR/],
    ['reads what it has refused', /^a refused upload without end/],
    ['hears only what Node hears', /leaves .* behind 300000 unread bytes/],
    ['hears only what Node hears', /leaves while it waits behind an unread body/],
    ['hears only what Node hears', /pipelined behind a stream, in the same packet/],
    ['hears only what Node hears', /one after the other/],
    ['hears only what Node hears', /body never comes: cut off/],
    ['hears only what Node hears', /slow bodies/],
    ['forgets for whom it works', /knows whose it is/],
  ])('%s', async (defect, name) => {
    const cases = adapterContract(plainHarness(defect)).filter((one) => name.test(one.name))
    expect(cases.length).toBeGreaterThan(0)
    for (const { run } of cases) await expect(run()).rejects.toThrow()
  })
})
