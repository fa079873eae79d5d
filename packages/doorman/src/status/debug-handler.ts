import type { RequestListener, ServerResponse } from 'node:http'
import type { LeaseServer } from '@fairlead/core'
import type { Configuration } from '../config/configuration.js'
import type { Addresses, EtcdElection } from '../election/etcd-election.js'
import type { Metrics } from '../observe/metrics.js'
import type { DoormanSettings } from '../options.js'
import { type Status, statusPage } from './status-page.js'

/** What the pages are about. */
export interface Standing {
  readonly settings: DoormanSettings
  readonly server: LeaseServer
  readonly metrics: Metrics
  readonly addresses: Addresses
  readonly election: EtcdElection | undefined
  readonly configuration: Configuration | undefined
  readonly startedAt: Date
}

/** `/` is the status page, `/?resource=ID` with the clients of one; `/metrics` for Prometheus; `/healthz`. */
export function debugHandler(standing: Standing): RequestListener {
  const { server, metrics } = standing
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    if (request.method !== 'GET' && request.method !== 'HEAD') send(response, 405, 'text/plain', 'only GET')
    else if (pathname === '/' || pathname.startsWith('/debug/'))
      send(response, 200, 'text/html; charset=utf-8', statusPage(statusOf(standing, searchParams.get('resource'))))
    else if (pathname === '/healthz') {
      const { isMaster, mastership } = server.discovery()
      send(response, 200, 'application/json', JSON.stringify({ status: 'ok', isMaster, ...mastership }))
    } else if (pathname === '/metrics')
      metrics.text().then(
        (text) => send(response, 200, metrics.contentType, text),
        (error: unknown) => send(response, 500, 'text/plain', String(error)),
      )
    else send(response, 404, 'text/plain', `nothing at ${pathname}`)
  }
}

function statusOf(standing: Standing, resource: string | null): Status {
  const { settings, server, addresses, election, configuration, startedAt } = standing
  const snapshot = server.snapshot()
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
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  // The page needs its own style, and nothing from anywhere.
  const policy = "default-src 'none'; style-src 'unsafe-inline'"
  response.writeHead(status, { 'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-store' })
  response.end(body)
}
