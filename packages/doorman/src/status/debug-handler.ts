import type { RequestListener, ServerResponse } from 'node:http'
import type { Access } from '../access.js'
import type { Configuration } from '../config/configuration.js'
import type { Addresses, EtcdElection } from '../etcd/election.js'
import { credentialsOf, sendError } from '../http/capacity-handler.js'
import type { History } from '../observe/history.js'
import type { Metrics } from '../observe/metrics.js'
import type { DoormanSettings } from '../options.js'
import type { DoormanServer } from '../server/index.js'
import { MOST_CHILDREN, type Status, statusPage } from './status-page.js'

/** The sources of the pages. */
export interface StatusSources {
  readonly settings: DoormanSettings
  readonly server: DoormanServer
  readonly access: Access
  readonly metrics: Metrics
  readonly history: History
  readonly addresses: Addresses
  readonly election: EtcdElection | undefined
  readonly configuration: Configuration | undefined
  readonly startedAt: Date
}

/**
 * `/` is the status page, `/?resource=ID` with the clients of one; `/metrics` for Prometheus. `/healthz` shows that the
 * process answers, `/readyz` whether it knows a master; these two are for probes, which have no credentials.
 */
export function debugHandler(standing: StatusSources): RequestListener {
  const { access, metrics } = standing
  return (request, response) => {
    // The request line may contain anything: `GET //` is no URL.
    const target = request.url ?? '/'
    const url = URL.canParse(target, BASE) ? new URL(target, BASE) : undefined
    if (request.method !== 'GET' && request.method !== 'HEAD') send(response, 405, 'text/plain', 'only GET')
    else if (url === undefined || url.origin !== BASE) send(response, 400, 'text/plain', 'no path')
    else if (url.pathname === '/healthz' || url.pathname === '/readyz') sendHealth(standing, url.pathname, response)
    else {
      try {
        access.requirePages(credentialsOf(request))
      } catch (error) {
        sendError(response, error)
        return
      }
      if (url.pathname === '/' || url.pathname.startsWith('/debug/')) {
        const page = statusOf(standing, url.searchParams.get('resource')).then(statusPage)
        sendWhenMade(page, response, 'text/html; charset=utf-8')
      } else if (url.pathname === '/metrics') sendWhenMade(metrics.text(), response, metrics.contentType)
      else send(response, 404, 'text/plain', 'nothing here')
    }
  }
}

const BASE = 'http://localhost'

function sendHealth({ server, election }: StatusSources, pathname: string, response: ServerResponse): void {
  const { isMaster, mastership } = server.discovery()
  const ready = isMaster || mastership.masterAddress !== undefined
  if (pathname === '/healthz') {
    send(response, 200, 'application/json', JSON.stringify({ status: 'ok', isMaster, ...mastership }))
    return
  }
  const body = { ready, isMaster, ...mastership, etcdError: election?.lastError, parentError: server.parentError }
  send(response, ready ? 200 : 503, 'application/json', JSON.stringify(body))
}

async function statusOf(standing: StatusSources, resource: string | null): Promise<Status> {
  const { settings, server, addresses, election, configuration, startedAt, history } = standing
  const snapshot = await server.summary()
  const problems: string[] = []
  if (configuration?.problem !== undefined) problems.push(`The configuration is an old one: ${configuration.problem}`)
  if (election?.lastError !== undefined) problems.push(`etcd does not answer: ${election.lastError}`)
  if (snapshot.parentError !== undefined) problems.push(`The parent does not answer: ${snapshot.parentError}`)
  const { parent } = settings
  return {
    snapshot,
    address: addresses.grpc,
    httpUrl: addresses.http,
    serverRole: settings.serverRole,
    lock: settings.masterElectionLock,
    parent: typeof parent === 'object' ? 'a parent' : parent,
    startedAt: startedAt.getTime() / 1_000,
    now: Date.now() / 1_000,
    problems,
    resource: resource ?? undefined,
    children: resource === null ? [] : await server.largest(resource, MOST_CHILDREN + 1),
    past: (id) => history.of(id),
  }
}

function sendWhenMade(body: Promise<string>, response: ServerResponse, type: string): void {
  body.then(
    (text) => send(response, 200, type, text),
    (error: unknown) => send(response, 500, 'text/plain', String(error)),
  )
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  // The page needs its own style, and no other source.
  const policy = "default-src 'none'; style-src 'unsafe-inline'"
  response.writeHead(status, { 'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-store' })
  response.end(body)
}
