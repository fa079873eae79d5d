import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { runServer } from 'verdaccio'
import { freshFolder, run } from './tarballs.js'

/** A registry on this machine, which contains only the packages published to it. */
export class Registry {
  readonly url: string
  readonly #server: Server
  readonly #folder: string

  private constructor(server: Server, folder: string) {
    const { port } = server.address() as AddressInfo
    this.url = `http://127.0.0.1:${port}/`
    this.#server = server
    this.#folder = folder
    this.use(folder)
  }

  static async start(): Promise<Registry> {
    const folder = freshFolder('registry')
    const server: Server = await runServer({
      configPath: join(folder, 'config.yaml'),
      self_path: folder,
      storage: join(folder, 'storage'),
      uplinks: {},
      packages: { '@fairlead/*': { access: '$all', publish: '$all' } },
      log: { type: 'stdout', format: 'pretty', level: 'fatal' },
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Registry(server, folder)
  }

  /** Makes the npm of a folder take our packages from here, and all others from its usual source. */
  use(folder: string): void {
    const token = `${this.url.replace('http:', '')}:_authToken=anybody` // npm requires one to publish
    writeFileSync(join(folder, '.npmrc'), `@fairlead:registry=${this.url}\n${token}\n`)
  }

  /** Publishes as a release does, but without provenance, which only a workflow can provide. */
  async publish(tarball: string): Promise<void> {
    await run(this.#folder, 'npm', 'publish', tarball, '--provenance=false', '--registry', this.url)
  }

  /** The registry's data about the latest version of a package. */
  async latest(name: string): Promise<Readonly<Record<string, unknown>>> {
    const response = await fetch(`${this.url}${name.replace('/', '%2f')}/latest`)
    if (!response.ok) throw new Error(`the registry answers ${response.status} for ${name}`)
    return (await response.json()) as Readonly<Record<string, unknown>>
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
